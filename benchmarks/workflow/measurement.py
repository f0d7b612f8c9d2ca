"""The measurement of one row."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """`wall` and `cpu` are seconds, `sizes` bytes.

    `to_pods` and `to_ends` are seconds of small runs, alone and beside it, from asking for each.
    """

    name: str
    tasks: int
    wall: float
    cpu: Mapping[str, float]
    sizes: Mapping[str, float] = field(default_factory=dict)
    to_pods: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    to_ends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def each(self, *names: str) -> float:
        """Milliseconds of processor time a task, of these processes together, or of all but foreign ones."""
        chosen = names or tuple(name for name in self.cpu if name != "foreign")
        return 1000 * sum(self.cpu[name] for name in chosen) / self.tasks
