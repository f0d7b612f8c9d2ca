"""What a plan comes to, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_api.workflow import WorkflowStatus
from torpor_wire.reason import Reason

from torpor_operator.actions import Action, Need, PostEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Actions may be applied in any order; they are begun in the one given.

    While `needs` is not empty, an answered plan may ask for more.
    """

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    status: WorkflowStatus | None = None
    events: tuple[PostEvent, ...] = ()
    again_at: float | None = None
    waiting: Mapping[str, Reason] = field(default_factory=dict)  # tasks with instances that wait for a slot, and which
