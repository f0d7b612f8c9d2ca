"""API writes of a run of a Schedule, above those of the same run that a client creates. Events are counted apart."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.system import FOREVER, RUN, Object, System, schedule
from benchmarks.triggerer.figures import Figure
from benchmarks.triggerer.plane import NAMESPACE
from benchmarks.writes import Kind, parse

GOAL = 3
MOST = 60
"""Runs of one minute, a second apart."""
_LEFT_OUT = frozenset({"leases", "serviceaccounts/token"})
_EVENTS = "events"
_AHEAD = 15.0
_SETTLE = 10.0
_LIMIT = 180.0
_LOOK = 1.0


async def writes(on: System, sizes: Sizes) -> list[Figure]:
    """Runs a second apart: of a client, of one Schedule with a tick a second, and of Schedules with one tick each."""
    count = min(sizes.runs, MOST)
    of_client = await _of_client(on, count)
    of_one = await _by_schedules(on, count, "one", [f"0-{count - 1}"])
    of_many = await _by_schedules(on, count, "many", [str(number) for number in range(count)])
    what = f"API writes of a run above one of a client, {count} runs a second apart"
    return [
        _figure("writes_one", f"{what}: one Schedule", count, of_one, of_client),
        _figure("writes_many", f"{what}: a Schedule each", count, of_many, of_client),
    ]


def above(count: int, scheduled: Mapping[Kind, int], of_client: Mapping[Kind, int]) -> dict[Kind, float]:
    """Writes per run of each kind that a Schedule adds; a kind that it saves is negative."""
    kinds = sorted({*scheduled, *of_client})
    found = {kind: (scheduled.get(kind, 0) - of_client.get(kind, 0)) / count for kind in kinds}
    return {kind: value for kind, value in found.items() if value}


def _figure(name: str, what: str, count: int, scheduled: Mapping[Kind, int], of_client: Mapping[Kind, int]) -> Figure:
    found = above(count, scheduled, of_client)
    counted = {kind: value for kind, value in found.items() if kind.resource != _EVENTS}
    parts = ", ".join(f"{kind.verb.lower()} {kind.resource} {value:+.2f}" for kind, value in found.items())
    total = sum(value for kind, value in of_client.items() if kind.resource != _EVENTS) / count
    return Figure(
        name=name,
        what=what,
        value=sum(counted.values()),
        unit="writes",
        goal=str(GOAL),
        aside=f"{parts}; of a client {total:.2f}",
    )


async def _of_client(on: System, count: int) -> Counter[Kind]:
    before = await _written(on)
    for number in range(count):
        metadata = {"name": f"client-{number}", "namespace": NAMESPACE}
        body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": RUN}
        await on.plane.api.create(WORKFLOWS, NAMESPACE, body)
        await asyncio.sleep(1)
    await _ended(on, count)
    after = await _written(on)
    await _remove(on)
    return after - before


async def _by_schedules(on: System, count: int, name: str, seconds: Sequence[str]) -> Counter[Kind]:
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


async def _ended(on: System, count: int) -> None:
    """Return a while after so many runs have ended."""
    async with asyncio.timeout(_LIMIT + count):
        while len(await _finished(on)) < count:  # noqa: ASYNC110 - a list sends no notification
            await asyncio.sleep(_LOOK)
    await asyncio.sleep(_SETTLE)


async def _remove(on: System) -> None:
    """Delete the Schedules and all runs."""
    await on.remove()
    for each in (await on.plane.api.list(WORKFLOWS, NAMESPACE)).items:
        await on.plane.api.delete(WORKFLOWS, NAMESPACE, each["metadata"]["name"])
    await asyncio.sleep(_SETTLE)


async def _finished(on: System) -> list[Object]:
    found = (await on.plane.api.list(WORKFLOWS, NAMESPACE)).items
    return [one for one in found if one.get("status", {}).get("completionTime")]


async def _written(on: System) -> Counter[Kind]:
    return parse(await on.plane.api.read("/metrics"), _LEFT_OUT)
