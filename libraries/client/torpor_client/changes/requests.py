"""Requests of a clear or a mark by annotation, and the operator's answers to them. Pure.

The operator removes the annotation when it has handled it: `status.clears` grows if it carries the request out; it
reports an Event if it refuses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_client.errors import UserError
from torpor_client.runs import run_state

ANSWER_S = 15.0
"""Seconds in which a running operator answers."""
EVENT_S = 3.0
"""How long the Event of a refusal may arrive after the annotation is gone."""


class RequestKind(NamedTuple):
    """A kind of request: its word in `torpor.dev/changed-by`, its annotation, and the reason of a refusal."""

    word: str
    annotation: str
    refused: Reason


CLEAR = RequestKind("clear", constants.CLEAR, Reason.CLEAR_REFUSED)
MARK = RequestKind("mark", constants.MARK, Reason.MARK_REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAccepted:
    """The operator carries the request out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """The operator changes nothing."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUnanswered:
    """The operator has not read the annotation within the limit."""


Answer: TypeAlias = RequestAccepted | RequestRefused | RequestUnanswered


def check_not_cancelled(workflow: Mapping[str, Any], then: str) -> None:
    """Raise UserError for a run that is being cancelled. `then` is what the user can do after its end."""
    name, spec = workflow["metadata"]["name"], workflow["spec"]
    if (spec.get("cancel") or spec.get("stop")) and not run_state.has_ended(workflow):
        raise UserError(f"run {name} is being cancelled; use `torpor wait {name}`, then {then}")


def check_no_request(workflow: Mapping[str, Any], what: str, *kinds: RequestKind) -> None:
    """Raise UserError while the operator has not handled an earlier request of these kinds. `what` names it."""
    annotations = workflow["metadata"].get("annotations") or {}
    if any(annotations.get(kind.annotation) for kind in kinds):
        raise UserError(f"an earlier {what} {workflow['metadata']['name']} is in progress; try again in a moment")


def clear_annotations(text: str, user: str) -> dict[str, str]:
    """Return the annotations of a clear. `text` as `clear_preview.request` returns it."""
    return {constants.CLEAR: text} | _by(CLEAR, user)


def mark_annotations(text: str, result: str | None, user: str) -> dict[str, str]:
    """Return the annotations of a mark. `text` as `marks.request` returns it; `result` is JSON text."""
    return {constants.MARK: text} | ({constants.MARK_RESULT: result} if result else {}) | _by(MARK, user)


def is_accepted(before: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether the operator has carried out a request since `before`."""
    return _clears(current) > _clears(before)


def is_handled(annotated: Mapping[str, Any], current: Mapping[str, Any], kind: RequestKind) -> bool:
    """Whether the operator has removed the annotation that `annotated` has."""
    pending = kind.annotation in (current["metadata"].get("annotations") or {})
    return not pending and _version(current) >= _version(annotated)


def refusals(workflow: Mapping[str, Any], kind: RequestKind) -> str:
    """Return the field selector of the Events that report a refusal."""
    return f"reason={kind.refused},regarding.name={workflow['metadata']['name']}"


def refusal(events: Iterable[Mapping[str, Any]], workflow: Mapping[str, Any]) -> str:
    """Return the message of a refusal that is newer than the request; empty if there is none yet."""
    latest = max(events, key=_time, default=None)
    return str(latest.get("note") or "") if latest and _is_recent(latest, workflow) else ""


def without_event(workflow: Mapping[str, Any]) -> RequestRefused:
    """Return the refusal whose Event did not arrive."""
    metadata = workflow["metadata"]
    return RequestRefused(
        message=f"see the Events: `kubectl describe workflow {metadata['name']} -n {metadata['namespace']}`"
    )


def _by(kind: RequestKind, user: str) -> dict[str, str]:
    return {constants.CHANGED_BY: f"{kind.word} {user}"} if user else {}


def _is_recent(event: Mapping[str, Any], workflow: Mapping[str, Any]) -> bool:
    """Whether an Event is newer than the last write of the annotation, by the clock of the cluster."""
    fields = workflow["metadata"].get("managedFields") or ()
    written_at = max((str(entry.get("time") or "") for entry in fields), default="")
    return _time(event)[:19] >= written_at[:19]


def _time(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("eventTime"), event.get("deprecatedLastTimestamp"))
    return max(str(each or "") for each in times)


def _clears(workflow: Mapping[str, Any]) -> int:
    return int((workflow.get("status") or {}).get("clears") or 0)


def _version(workflow: Mapping[str, Any]) -> int:
    return int(workflow["metadata"]["resourceVersion"])
