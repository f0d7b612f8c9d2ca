"""What every scenario receives, and functions that several scenarios share."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from torpor_crds.models.taskrun import TaskRun

from benchmarks.triggerer.plane import Plane
from benchmarks.triggerer.waits import Waits, WaitSpec

_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Counts of waits, seconds, fires a second."""

    few: int = 5_000
    many: int = 20_000
    rate: float = 50.0
    steady: float = 20.0
    idle: float = 30.0
    churn: float = 45.0
    block: float = 30.0
    rounds: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A control plane, the waits in it, and how large things are to be."""

    plane: Plane
    waits: Waits
    sizes: Sizes


def sleeping(count: int) -> list[WaitSpec]:
    """Waits that never end and are all different."""
    return [WaitSpec(class_name="sleeps", kwargs={"number": next(_numbers)}) for _ in range(count)]


def polling(count: int) -> list[WaitSpec]:
    """Waits that poll, never end and are all different."""
    return [WaitSpec(class_name="polls", kwargs={"number": next(_numbers)}) for _ in range(count)]


def counting(count: int, distinct: int, *, every: float) -> list[WaitSpec]:
    """Waits that look every so many seconds, so many of them different."""
    first = next(_numbers) + 1
    kwargs = [{"number": first + number % distinct, "every": every} for number in range(count)]
    return [WaitSpec(class_name="counts", kwargs=one) for one in kwargs]


def timers(moments: Sequence[float]) -> list[WaitSpec]:
    """Waits for moments (seconds since the epoch)."""
    return [WaitSpec(class_name="time", kwargs={"at": _text(one)}, due=one) for one in moments]


def far(count: int) -> list[float]:
    """Moments after the bench, all different."""
    return [time.time() + 86_400 + number / 1000 for number in range(count)]


def at_once(moment: float, count: int) -> list[float]:
    """One moment, in microseconds so far apart that no two waits are the same."""
    return [moment + number / 1e6 for number in range(count)]


def due(asked: Sequence[WaitSpec], made: Mapping[str, TaskRun]) -> dict[str, float]:
    """When each that was made fires, by name; in the order that they were asked for."""
    return {name: one.due for name, one in zip(made, asked, strict=True) if one.due is not None}


def evenly(begin: float, rate: float, seconds: float) -> Iterator[float]:
    """Moments, so many a second."""
    return (begin + number / rate for number in range(int(rate * seconds)))


def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
