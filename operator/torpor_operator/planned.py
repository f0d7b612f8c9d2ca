"""What a plan comes to, as a value."""

from dataclasses import dataclass

from torpor_api.workflow import WorkflowStatus

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
