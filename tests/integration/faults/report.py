"""What a campaign of faults did and found, as numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One disrupted run. `lost`: what differs from the faultless run. `repeated`: user code that ran twice."""

    disruption: str
    seed: str
    seconds: float
    lost: Sequence[str]
    repeated: Sequence[str]

    @property
    def right(self) -> bool:
        return not self.lost and not self.repeated


@dataclass(kw_only=True, eq=False)
class FaultReport:
    """`starts` counts starts of processes after the first, by component."""

    rounds: list[Round] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    taskruns: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON."""
        disruptions = Counter(each.disruption for each in self.rounds)
        return {
            "seconds": round(self.seconds),
            "runs": len(self.rounds),
            "taskruns": self.taskruns,
            "disruptions": dict(sorted(disruptions.items())),
            "requests struck": dict(sorted(self.requests.items())),
            "faults": sum(self.requests.values()) + sum(count for name, count in disruptions.items() if name != "none"),
            "writes repeated or without response": self.requests["repeat"] + self.requests["lose response"],
            "restarts": dict(sorted(self.starts.items())),
            "invariants checked": self.checks,
            "lost": sum(bool(each.lost) for each in self.rounds),
            "repeated": sum(len(each.repeated) for each in self.rounds),
            "slowest run in seconds": round(max((each.seconds for each in self.rounds), default=0.0), 1),
            "wrong rounds": [asdict(each) for each in self.rounds if not each.right],
        }
