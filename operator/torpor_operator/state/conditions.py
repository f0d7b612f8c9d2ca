"""The conditions of a status: how to find one, and how the next follow from the former ones. Pure."""

from collections.abc import Iterable
from typing import TypeAlias

from torpor_crds.models.base import Condition
from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.state import CONDITION
from torpor_wire.text import printable

ARCHIVED = "Archived"
_MESSAGE_MAX = 4096

WantedCondition: TypeAlias = tuple[str, str, str, str]
"""Type, status, reason and message."""


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of a type, if there is one."""
    return next((condition for condition in conditions if condition.type == kind), None)


def of_run(workflow: Workflow, *reasons: str) -> Condition | None:
    """Return the condition Succeeded of a run if it has one of these reasons."""
    succeeded = find(workflow.status.conditions, CONDITION)
    return succeeded if succeeded is not None and succeeded.reason in reasons else None


def is_archived(workflow: Workflow) -> bool:
    """Return whether the archive has stored the run since its present completion."""
    archived = find(workflow.status.conditions, ARCHIVED)
    return archived is not None and archived.status == "True"


def updated(
    former: Iterable[Condition], wanted: Iterable[WantedCondition], now: float, message_max: int = _MESSAGE_MAX
) -> tuple[Condition, ...]:
    """Return the wanted conditions. The time of the last transition stays while the status stays."""
    since = {(condition.type, condition.status): condition.last_transition_time for condition in former}
    return tuple(
        Condition(
            type=kind,
            status=status,
            reason=reason,
            message=printable(message)[:message_max],
            last_transition_time=since.get((kind, status)) or times.rfc3339(now),
        )
        for kind, status, reason, message in wanted
    )
