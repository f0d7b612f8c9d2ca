"""Events of a Redis stream, while operator and triggerers are killed: each entry has one run, none is lost."""

import asyncio
import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence

from torpor_dev.console import say

from benchmarks.harness.figures import Figure
from benchmarks.harness.processes import ChildProcess
from benchmarks.schedules.sightings import RunSightings, watching
from benchmarks.schedules.system import ScheduleSizes, ScheduleSystem, schedule
from tests.integration.triggers.servers import redis_server
from tests.integration.triggers.servers.redis_server import RedisServer

_STREAM = "arrivals"
_LOOK = 0.1
_STALL = 180.0
_SETTLE = 20.0
"""Longer than a source needs to fire again: a doubled entry would show."""


async def stream(on: ScheduleSystem, sizes: ScheduleSizes) -> list[Figure]:
    """So many entries become runs, with so many kills on the way."""
    with redis_server.started() as redis:
        entries = await _fill(redis, sizes.events)
        url = f"redis://127.0.0.1:{redis.process.port}/0"
        source = {"trigger": {"class": "redis", "kwargs": {"url": url, "stream": _STREAM, "interval": 1}}}
        async with watching(on.plane) as seen:
            await on.create([schedule("stream", source)])
            began = time.monotonic()
            killed = await _drain(on, seen, sizes)
            took = time.monotonic() - began
            await asyncio.sleep(_SETTLE)
        await on.remove()
    counted = Counter(run.event["id"] for run in seen.runs.values())
    lost = [entry for entry in entries if not counted[entry]]
    doubled = {entry: count for entry, count in counted.items() if count > 1}
    if lost or doubled:
        say(f"lost: {lost[:10]}, doubled: {list(doubled.items())[:10]}")
    what = f"{sizes.events:,} entries of a Redis stream, {killed} kills of operator and triggerers"
    return [
        Figure(name="stream_lost", what=f"{what}: lost", value=len(lost), unit="entries", goal="0"),
        Figure(
            name="stream_doubled", what="doubled", value=sum(doubled.values()) - len(doubled), unit="runs", goal="0"
        ),
        Figure(name="stream_seconds", what="until the last entry has its run", value=took, unit="s"),
        Figure(
            name="stream_rate", what="runs a second of one source, kills included", value=len(counted) / took, unit="/s"
        ),
    ]


async def _fill(redis: RedisServer, count: int) -> list[str]:
    """The ids of so many entries; the server then takes requests without a password."""
    client = redis.client()
    try:
        added = [os.fsdecode(await client.xadd(_STREAM, {"n": str(number)})) for number in range(count)]
        await client.config_set("requirepass", "")
    finally:
        await client.aclose()
    return added


async def _drain(on: ScheduleSystem, seen: RunSightings, sizes: ScheduleSizes) -> int:
    """Return once each entry has a run, or none has come for long. Kills at equal numbers of runs; how many kills."""
    targets = itertools.cycle([(on.operator,), tuple(on.triggerers), (on.operator, *on.triggerers)])
    killed, newest, since = 0, 0, time.monotonic()
    while len(seen.runs) < sizes.events and time.monotonic() < since + _STALL:
        if len(seen.runs) > newest:
            newest, since = len(seen.runs), time.monotonic()
        if killed < sizes.kills and newest >= sizes.events * (killed + 1) / (sizes.kills + 1):
            await _kill(next(targets))
            killed += 1
        await asyncio.sleep(_LOOK)
    return killed


async def _kill(processes: Sequence[ChildProcess]) -> None:
    """Kill them at the same moment, and start them again."""
    await asyncio.gather(*(process.end(signal.SIGKILL) for process in processes))
    await asyncio.gather(*(process.start() for process in processes))
    await asyncio.gather(*(process.ready() for process in processes))
