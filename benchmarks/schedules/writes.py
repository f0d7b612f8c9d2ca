"""API writes: of a run of a Schedule above those of a run that a client creates, and of sources that fire each second.

Events are counted apart.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from torpor_dev.console import say
from torpor_kubernetes.client.resources import WORKFLOWS

from benchmarks.harness.api_writes import PROGRAMS, WriteKind, read_writes
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.harness.runs import workflow
from benchmarks.harness.waiting import Object, until
from benchmarks.schedules.system import FOREVER, RUN, ScheduleSizes, ScheduleSystem, schedule

GOAL = 3
MOST = 60
"""Runs of one minute, a second apart."""
_EVENTS = "events"
_MINUTE = 60.0
_MINUTES = 2
_SOURCES = 20
"""The most that a Schedule may have."""
_INTERVAL = "1050ms"
_WARM_UP = 20.0
_FLOOD_SECONDS = 60.0
_AHEAD = 15.0
_SETTLE = 10.0
_LIMIT = 180.0
_LOOK = 1.0


async def writes(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """Runs a second apart: of a client, of one Schedule, of Schedules with one tick each, and with one each minute."""
    count = min(sizes.runs, MOST)
    of_client = await _of_client(on, count)
    of_one = await _by_schedules(on, count, "one", [f"0-{count - 1}"])
    of_many = await _by_schedules(on, count, "many", [str(number) for number in range(count)])
    of_minutes = await _by_minutely_schedules(on, count)
    what = f"API writes of a run above one of a client, {count} runs a second apart"
    twice = Counter({kind: _MINUTES * written for kind, written in of_client.items()})
    return [
        _figure("writes_one", f"{what}: one Schedule", count, of_one, of_client),
        _figure("writes_many", f"{what}: a Schedule each", count, of_many, of_client),
        _figure("writes_minutely", f"{what}: a Schedule each, each minute", count * _MINUTES, of_minutes, twice),
    ]


def above(count: int, scheduled: Mapping[WriteKind, int], of_client: Mapping[WriteKind, int]) -> dict[WriteKind, float]:
    """Writes per run of each kind that a Schedule adds; a kind that it saves is negative."""
    kinds = sorted({*scheduled, *of_client})
    growth = {kind: (scheduled.get(kind, 0) - of_client.get(kind, 0)) / count for kind in kinds}
    return {kind: value for kind, value in growth.items() if value}


def _figure(
    name: str, what: str, count: int, scheduled: Mapping[WriteKind, int], of_client: Mapping[WriteKind, int]
) -> Figure:
    growth = above(count, scheduled, of_client)
    counted = {kind: value for kind, value in growth.items() if kind.resource != _EVENTS}
    parts = ", ".join(f"{kind} {value:+.2f}" for kind, value in growth.items())
    total = sum(value for kind, value in of_client.items() if kind.resource != _EVENTS) / count
    return Figure(
        name=name,
        what=what,
        value=sum(counted.values()),
        unit="writes",
        goal=str(GOAL),
        aside=f"{parts}; of a client {total:.2f}",
    )


async def _of_client(on: ScheduleSystem, count: int) -> Counter[WriteKind]:
    before = await _written(on)
    for number in range(count):
        await on.plane.api.create(WORKFLOWS, NAMESPACE, workflow(f"client-{number}", RUN))
        await asyncio.sleep(1)
    await _ended(on, count)
    after = await _written(on)
    await _remove(on)
    return after - before


async def _by_schedules(on: ScheduleSystem, count: int, name: str, seconds: Sequence[str]) -> Counter[WriteKind]:
    """The writes of the runs of one minute; the Schedules wait before it, so that their own creation is not counted."""
    minute = time.gmtime(time.time() + 60 + _AHEAD + len(seconds)).tm_min
    crons = [f"{second} {minute} * * * *" for second in seconds]
    bodies = [schedule(f"{name}-{number}", {"cron": cron}, history=FOREVER) for number, cron in enumerate(crons)]
    await on.create(bodies)
    await on.armed(len(seconds))
    await asyncio.sleep(_AHEAD)
    if time.gmtime().tm_min == minute:
        raise SystemExit("the ticks came before all sources waited: nothing is measured so")
    before = await _written(on)
    await _ended(on, count)
    after = await _written(on)
    await _remove(on)
    return after - before


async def _by_minutely_schedules(on: ScheduleSystem, count: int) -> Counter[WriteKind]:
    """The writes of some whole minutes, with a tick of each Schedule in each minute."""
    crons = [f"{second} * * * * *" for second in range(count)]
    bodies = [schedule(f"minutely-{number}", {"cron": cron}, history=FOREVER) for number, cron in enumerate(crons)]
    await on.create(bodies)
    await on.armed(count)
    await asyncio.sleep(2 * _MINUTE)
    before = await _written(on)
    await asyncio.sleep(_MINUTES * _MINUTE)
    after = await _written(on)
    await _remove(on)
    return after - before


async def _ended(on: ScheduleSystem, count: int) -> None:
    """Return a while after so many runs have ended."""

    async def all_finished() -> bool:
        return len(await _finished(on)) >= count

    await until(all_finished, _LIMIT + count, every=_LOOK)
    await asyncio.sleep(_SETTLE)


async def _remove(on: ScheduleSystem) -> None:
    """Delete the Schedules and all runs."""
    await on.remove()
    for each in (await on.plane.api.list(WORKFLOWS, NAMESPACE)).items:
        await on.plane.api.delete(WORKFLOWS, NAMESPACE, each["metadata"]["name"])
    await asyncio.sleep(_SETTLE)


async def _finished(on: ScheduleSystem) -> list[Object]:
    workflows = (await on.plane.api.list(WORKFLOWS, NAMESPACE)).items
    return [body for body in workflows if body.get("status", {}).get("completionTime")]


async def flood(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """Events and status patches a second of some Schedules with 20 quick sources each."""
    source = {"trigger": {"class": "duration", "kwargs": {"duration": _INTERVAL}}}
    sources = [{"name": f"s{number}", **source} for number in range(_SOURCES)]
    names = [f"flood-{number}" for number in range(sizes.flood)]
    await on.create([{**body, "spec": {**body["spec"], "sources": sources}} for body in map(_quick_schedule, names)])
    await asyncio.sleep(_WARM_UP)
    before, spent, began = await _written(on), on.cpu(), time.monotonic()
    await asyncio.sleep(_FLOOD_SECONDS)
    written, seconds = await _written(on) - before, time.monotonic() - began
    cpu = ", ".join(f"{part} {value - spent[part]:.1f} s" for part, value in on.cpu().items())
    await on.remove()
    what = f"{sizes.flood} Schedules of {_SOURCES} sources that fire every 1.05 s"
    patches = {kind: count for kind, count in written.items() if kind.resource.endswith("/status")}
    say(f"{what}: CPU of {seconds:.0f} s: {cpu}")
    return [
        _rate("flood_events", f"{what}: Events", _of(written, _EVENTS), seconds),
        _rate("flood_patches", f"{what}: status patches", patches, seconds),
    ]


def _quick_schedule(name: str) -> dict[str, dict[str, object]]:
    return schedule(name, {}, when="false")


def _of(written: Counter[WriteKind], resource: str) -> dict[WriteKind, int]:
    return {kind: count for kind, count in written.items() if kind.resource == resource}


def _rate(name: str, what: str, counted: dict[WriteKind, int], seconds: float) -> Figure:
    parts = ", ".join(f"{kind} {count / seconds:.1f}" for kind, count in counted.items())
    return Figure(name=name, what=what, value=sum(counted.values()) / seconds, unit="/s", aside=parts)


async def _written(on: ScheduleSystem) -> Counter[WriteKind]:
    return await read_writes(on.plane.api, PROGRAMS)
