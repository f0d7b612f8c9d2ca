"""What one run of a bench looked like over time: samples as CSV, and the figures that follow from them. Pure."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import pairwise
from typing import Any

MIB = 1024**2
_SMOOTHED = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A moment of a run, in seconds since its beginning; processor seconds since then, working sets in bytes."""

    seconds: float
    running: int
    pending: int
    deferred: int
    tasks_cpu: float
    triggerer_cpu: float
    operator_cpu: float
    tasks_memory: int
    triggerer_memory: int
    operator_memory: int

    @property
    def cpu(self) -> float:
        """Of tasks and Torpor together."""
        return self.tasks_cpu + self.triggerer_cpu + self.operator_cpu

    @property
    def memory(self) -> int:
        """Of tasks and Torpor together."""
        return self.tasks_memory + self.triggerer_memory + self.operator_memory


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorRun:
    """A run with one kind of sensor. What it waited for was there at `opened`; it ended at `ended`, in seconds."""

    sensor: str
    waits: int
    pods: int
    opened: float
    ended: float
    samples: Sequence[Sample]


def cores(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Processor time a second, over the last ten seconds at each moment; it begins with nothing used."""
    used = [(0.0, 0.0), *((each.seconds, each.cpu) for each in samples)]
    cores = []
    for index, (now, cpu) in enumerate(used[1:], start=1):
        then, before = next(each for each in used[:index] if each[0] > now - _SMOOTHED or each is used[index - 1])
        if now > then:
            cores.append((now, (cpu - before) / (now - then)))
    return cores


def figures(run: SensorRun, *, window: float = 60.0) -> dict[str, Any]:
    """What a run came to, and what it held while all waited: in the `window` seconds before the wait was over."""
    held = [each for each in run.samples if run.opened - window <= each.seconds < run.opened]
    first, last = held[0], held[-1]
    return {
        "sensor": run.sensor,
        "waits": run.waits,
        "pods_started": run.pods,
        "pods_at_most": max(each.running for each in run.samples),
        "pod_seconds": round(_integral((each.seconds, each.running) for each in run.samples)),
        "tasks_cpu_seconds": round(run.samples[-1].tasks_cpu, 1),
        "triggerer_cpu_seconds": round(run.samples[-1].triggerer_cpu, 1),
        "operator_cpu_seconds": round(run.samples[-1].operator_cpu, 1),
        "memory_at_most_mib": round(max(each.memory for each in run.samples) / MIB),
        "gib_seconds": round(_integral((each.seconds, each.memory / MIB / 1024) for each in run.samples), 1),
        "opened_after_s": round(run.opened, 1),
        "ended_after_s": round(run.ended, 1),
        "while_waiting": {
            "running_pods": sorted({each.running for each in held}),
            "deferred": sorted({each.deferred for each in held}),
            "cores": round((last.cpu - first.cpu) / (last.seconds - first.seconds), 3),
            "tasks_mib": _mean_mib(each.tasks_memory for each in held),
            "triggerer_mib": _mean_mib(each.triggerer_memory for each in held),
            "operator_mib": _mean_mib(each.operator_memory for each in held),
        },
    }


def written(runs: Iterable[SensorRun]) -> str:
    """All samples as CSV, with the name of the sensor before them."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["sensor", *(field.name for field in fields(Sample))])
    for run in runs:
        rows.writerows([run.sensor, *map(_rounded, astuple(sample))] for sample in run.samples)
    return text.getvalue()


def read(text: str, sensor: str) -> list[Sample]:
    """The samples of one sensor from such a CSV."""
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row.pop("sensor") == sensor]
    kinds: dict[str, Callable[[str], Any]] = {
        field.name: float if field.type is float else int for field in fields(Sample)
    }
    return [Sample(**{name: kinds[name](value) for name, value in row.items()}) for row in rows]


def _rounded(value: float) -> float:
    return round(value, 3)


def _integral(points: Iterable[tuple[float, float]]) -> float:
    """By trapezia."""
    return sum((later - sooner) * (high + low) / 2 for (sooner, high), (later, low) in pairwise(points))


def _mean_mib(values: Iterable[int]) -> int:
    sizes = list(values)
    return round(sum(sizes) / len(sizes) / MIB)
