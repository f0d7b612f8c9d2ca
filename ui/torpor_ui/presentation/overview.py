"""What the page shows below the timeline of a run: pods and waits over time, and the critical path. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from torpor_views import critical_path
from torpor_views.model import RunView
from torpor_views.occupancy import Occupancy, PhaseInterval

from torpor_ui.presentation import instances
from torpor_ui.presentation.instances import CachedInstance


def build(run: RunView, cached: Iterable[CachedInstance]) -> dict[str, Any]:
    """Return `occupancy` and `critical`, as the events have them. Without instances they are empty."""
    occupancy = Occupancy.of_intervals(_intervals(cached, run.now))
    return {
        "occupancy": {
            "t": [round(moment, 1) for moment in occupancy.times],
            "pods": list(occupancy.pods),
            "waits": list(occupancy.waits),
            "podSeconds": round(occupancy.pod_seconds),
            "waitSeconds": round(occupancy.wait_seconds),
        },
        "critical": [instances.key_of(view) for view in critical_path.build(run)],
    }


def _intervals(cached: Iterable[CachedInstance], now: float) -> Iterator[PhaseInterval]:
    for instance in cached:
        for each in instances.intervals_of(instance):
            yield PhaseInterval(each.phase, each.start, now if each.end is None else each.end)
