"""Schedules with cron: how late their runs are created, whether ticks are lost or doubled, and the CPU of both.

A run is late by the time from its tick, plus the delay by jitter, to its first sighting in a watch.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from torpor_operator.schedules.plan.cron_source import delay_in
from torpor_wire import times
from torpor_wire.enums import MissedRun

from benchmarks.harness.figures import Figure, quantile
from benchmarks.harness.waiting import until
from benchmarks.schedules.sightings import RunSightings, watching
from benchmarks.schedules.system import OPERATOR, SERVERS, TRIGGERERS, ScheduleSizes, ScheduleSystem, schedule

GOAL = 0.5
_MINUTE = 60.0
_AHEAD = 5.0
_SETTLE = 10.0
_LIMIT = 300.0
_LOOK = 0.5


async def spread(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """Ticks of a minute each, spread over the minute by jitter."""
    return await _lateness(on, sizes, "jitter", {"jitter": "1m", "missed": {"run": sizes.missed}})


async def together(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """All ticks in the first second of each minute."""
    return await _lateness(on, sizes, "together", {"missed": {"run": sizes.missed}})


async def idle(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """The CPU while all ticks are hours away, and the time until all sources wait."""
    far = datetime.now(UTC) + timedelta(hours=12)
    began = time.monotonic()
    bodies = [
        schedule(f"idle-{number}", {"cron": f"{number % 60} {far.hour} * * *"}) for number in range(sizes.schedules)
    ]
    await on.create(bodies)
    await on.armed(sizes.schedules)
    took = time.monotonic() - began
    await asyncio.sleep(_SETTLE)
    before = on.cpu()
    await asyncio.sleep(sizes.idle)
    after = on.cpu()
    await on.remove()
    what = f"{sizes.schedules:,} Schedules"
    spent = {name: (after[name] - before[name]) * _MINUTE / sizes.idle for name in before}
    return [
        Figure(name="create_seconds", what=f"{what} created, until all sources wait", value=took, unit="s"),
        Figure(
            name="idle_cpu_operator",
            what=f"CPU of the operator a minute, {what} whose ticks are hours away",
            value=spent[OPERATOR],
            unit="s",
        ),
        Figure(
            name="idle_cpu_triggerers",
            what="the same of both triggerers",
            value=spent[TRIGGERERS],
            unit="s",
            aside=f"API server, etcd and controllers {spent[SERVERS]:.2f} s",
        ),
    ]


async def _lateness(on: ScheduleSystem, sizes: ScheduleSizes, name: str, spec: Mapping[str, Any]) -> list[Figure]:
    names = [f"{name}-{number}" for number in range(sizes.schedules)]
    async with watching(on.plane) as seen:
        created = await on.create([schedule(each, {"cron": "* * * * *"}, **spec) for each in names])
        longest = times.seconds(spec["jitter"]) if "jitter" in spec else 0.0
        delays = {body["metadata"]["name"]: delay_in(body["metadata"]["uid"], longest) for body in created}
        await on.armed(sizes.schedules)
        begin = _next_minute(time.time() + _AHEAD)
        end = begin + _MINUTE * sizes.minutes
        await asyncio.sleep(begin - time.time())
        before, runs = on.cpu(), len(seen.runs)
        with suppress(TimeoutError):
            await _complete(seen, begin, end, sizes.schedules * sizes.minutes)
        after, runs = on.cpu(), len(seen.runs) - runs
    await on.remove()
    counted = seen.ticks(begin, end)
    lost = sizes.schedules * sizes.minutes - len(counted)
    late = seen.lateness(begin, end, delays)
    by_minute = [max(seen.lateness(at, at + _MINUTE, delays), default=0.0) for at in range(int(begin), int(end), 60)]
    spent = {part: 1000 * (after[part] - before[part]) / max(runs, 1) for part in before}
    faults = (lost, sum(counted.values()) - len(counted))
    return [*_figures(sizes, name, late, faults, spent), _longest(name, by_minute)]


async def _complete(seen: RunSightings, begin: float, end: float, count: int) -> None:
    """Return once each tick has its run, at the earliest after the last tick. Raises TimeoutError."""
    await asyncio.sleep(end - _MINUTE / 2 - time.time())
    await until(lambda: len(seen.ticks(begin, end)) >= count, _LIMIT + _MINUTE / 2, every=_LOOK)


def _figures(
    sizes: ScheduleSizes, name: str, late: list[float], faults: tuple[int, int], spent: Mapping[str, float]
) -> list[Figure]:
    """`faults`: ticks that were lost and doubled."""
    lost, doubled = faults
    runs_all = sizes.missed == MissedRun.ALL
    how = "spread by jitter" if name == "jitter" else "at the same second"
    what = f"{sizes.schedules:,} Schedules with a tick a minute, {how}, for {sizes.minutes} min"
    quantiles = [
        Figure(
            name=f"{name}_p{100 * share:.0f}",
            what=f"{what}: tick to run, p{100 * share:.0f}",
            value=quantile(late, share),
            unit="s",
            goal=f"{GOAL} s" if share == 0.99 and name == "jitter" else "",
            aside=f"longest {max(late):.2f} s" if share == 0.99 else "",
        )
        for share in (0.5, 0.99)
    ]
    return [
        *quantiles,
        Figure(
            name=f"{name}_lost",
            what="ticks lost" if runs_all else "ticks that started no run",
            value=lost,
            unit=f"of {sizes.schedules * sizes.minutes:,}",
            goal="0" if runs_all else "",
        ),
        Figure(name=f"{name}_doubled", what="ticks doubled", value=doubled, unit="", goal="0"),
        Figure(
            name=f"{name}_cpu",
            what="CPU of a run, operator and triggerers",
            value=spent[OPERATOR] + spent[TRIGGERERS],
            unit="ms",
            aside=f"operator {spent[OPERATOR]:.1f}, triggerers {spent[TRIGGERERS]:.1f}; "
            f"API server, etcd and controllers {spent[SERVERS]:.1f}",
        ),
    ]


def _longest(name: str, by_minute: Sequence[float]) -> Figure:
    """It grows from minute to minute where the ticks of a minute take longer than a minute and none is passed over."""
    each = ", ".join(f"{seconds:.1f}" for seconds in by_minute)
    what = "longest from tick to run, of the ticks of the last minute"
    return Figure(name=f"{name}_longest", what=what, value=by_minute[-1], unit="s", aside=f"of each minute: {each}")


def _next_minute(moment: float) -> float:
    return moment - moment % _MINUTE + _MINUTE
