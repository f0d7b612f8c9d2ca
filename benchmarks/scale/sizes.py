"""How large the bench is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Counts, and seconds of the measurement at rest."""

    waits: int = 50_000
    """Waiting TaskRuns: half of them triggers without a pod, half of them python tasks that deferred."""
    workflows: int = 50
    """Workflows that these belong to."""
    namespaces: int = 5
    instances: int = 10_000
    """Instances of one more Workflow, which the operator creates and defers."""
    tasks: int = 500
    """Python tasks of the fan-outs before and beside all of this."""
    fires: int = 2_000
    """Waits that fire."""
    duration: str = "20s"
    """After which these fire."""
    rest: float = 60.0

    @property
    def each(self) -> int:
        """TaskRuns of one Workflow."""
        return self.waits // self.workflows

    @property
    def all_waits(self) -> int:
        """Waiting TaskRuns, with the instances of the large Workflow."""
        return self.each * self.workflows + self.instances
