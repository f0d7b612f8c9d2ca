"""The metrics of the reconcile loop of one kind, with a version that counts nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class LoopMetrics(Protocol):
    """What the loop of one kind reports. Durations are in seconds."""

    def waited(self, seconds: float) -> None:
        """A key was taken from the queue after this time."""

    def passed(self, seconds: float, *, failed: bool) -> None:
        """A pass ended."""

    def planned(self, seconds: float) -> None:
        """A plan was computed."""

    def watch_depth(self, depth: Callable[[], int]) -> None:
        """Export the number of due keys, which `depth` returns at each scrape."""


class UncountedLoop:
    """Counts nothing."""

    def waited(self, seconds: float) -> None:
        """Do nothing."""

    def passed(self, seconds: float, *, failed: bool) -> None:
        """Do nothing."""

    def planned(self, seconds: float) -> None:
        """Do nothing."""

    def watch_depth(self, depth: Callable[[], int]) -> None:
        """Do nothing."""


UNCOUNTED: LoopMetrics = UncountedLoop()


@contextmanager
def plan_timer(metrics: LoopMetrics, monotonic: Callable[[], float]) -> Iterator[None]:
    """Report the duration of the block as that of a plan."""
    started = monotonic()
    try:
        yield
    finally:
        metrics.planned(monotonic() - started)
