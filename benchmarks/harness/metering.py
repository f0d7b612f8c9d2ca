"""Elapsed time and processor time of an interval, and what a task of it cost."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Metered(Protocol):
    """Processes with their processor time by name; `machine` is that of all."""

    def cpu(self) -> Mapping[str, float]:
        """Seconds so far."""


@dataclass(slots=True)
class MeteredSpan:
    """Measures the elapsed time and the processor time of each process."""

    processes: Metered
    began: float
    before: Mapping[str, float]

    @classmethod
    def begin(cls, processes: Metered) -> "MeteredSpan":
        """From now on."""
        return cls(processes, time.monotonic(), processes.cpu())

    def cpu(self) -> dict[str, float]:
        """Seconds by name since; `foreign` is what others on this machine used."""
        used = {name: now - self.before[name] for name, now in self.processes.cpu().items()}
        machine = used.pop("machine")
        return used | {"foreign": machine - sum(used.values())}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCosts:
    """One measurement: `wall` and `cpu` are seconds, `sizes` bytes.

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
