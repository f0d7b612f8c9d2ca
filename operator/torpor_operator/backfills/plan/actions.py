"""What the plan of a Backfill asks for, as data."""

from dataclasses import dataclass
from typing import Any

from torpor_crds.models.backfill import BackfillStatus
from torpor_crds.models.run_of import TemplateRef

from torpor_operator.model.actions import Need, Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """The runs to create, the runs and the WorkflowTemplate to look up by name, and the expressions to evaluate.

    The plan is computed again with the outcome of all of them. The status describes what is known now: it passes no
    tick whose run does not exist. It and the Events are written once the plan asks for nothing more.
    """

    creates: tuple[dict[str, Any], ...] = ()
    lookups: tuple[str, ...] = ()
    template: TemplateRef | None = None
    needs: tuple[Need, ...] = ()
    status: BackfillStatus
    notices: tuple[Notice, ...] = ()
    again_at: float | None = None  # when to plan again, unless a change comes first

    @property
    def is_complete(self) -> bool:
        """Whether it asks for nothing."""
        return not (self.creates or self.lookups or self.template or self.needs)
