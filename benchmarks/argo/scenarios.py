"""What both are measured at."""

from dataclasses import dataclass

FAN, MANY, CHAIN = "fan", "many", "chain"
_NAMES = {FAN: "fan-out of {:,}", MANY: "{:,} Workflows of one step", CHAIN: "chain of {:,}"}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A shape, and how many tasks."""

    kind: str
    size: int

    @property
    def name(self) -> str:
        """For people."""
        return _NAMES[self.kind].format(self.size)
