"""Writes in Torpor's name for Schedules whose sources fire about once a second, and whose events start no run."""

import asyncio
import time
from collections import Counter

from torpor_dev.progress import say

from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.system import System, schedule
from benchmarks.triggerer.figures import Figure
from benchmarks.writes import Kind, parse

SOURCES = 20
"""The most that a Schedule may have."""
_INTERVAL = "1050ms"
_WARM_UP = 20.0
_SECONDS = 60.0
_LEFT_OUT = frozenset({"leases", "serviceaccounts/token"})
_EVENTS = "events"


async def flood(on: System, sizes: Sizes) -> list[Figure]:
    """Events and status patches a second of some Schedules with 20 quick sources each."""
    source = {"trigger": {"class": "duration", "kwargs": {"duration": _INTERVAL}}}
    sources = [{"name": f"s{number}", **source} for number in range(SOURCES)]
    names = [f"flood-{number}" for number in range(sizes.flood)]
    await on.create([{**body, "spec": {**body["spec"], "sources": sources}} for body in map(_schedule, names)])
    await asyncio.sleep(_WARM_UP)
    before, spent, began = await _written(on), on.cpu(), time.monotonic()
    await asyncio.sleep(_SECONDS)
    written, seconds = await _written(on) - before, time.monotonic() - began
    cpu = ", ".join(f"{part} {value - spent[part]:.1f} s" for part, value in on.cpu().items())
    await on.remove()
    what = f"{sizes.flood} Schedules of {SOURCES} sources that fire every 1.05 s"
    patches = {kind: count for kind, count in written.items() if kind.resource.endswith("/status")}
    say(f"{what}: CPU of {seconds:.0f} s: {cpu}")
    return [
        _figure("flood_events", f"{what}: Events", _of(written, _EVENTS), seconds),
        _figure("flood_patches", f"{what}: status patches", patches, seconds),
    ]


def _schedule(name: str) -> dict[str, dict[str, object]]:
    return schedule(name, {}, when="false")


def _of(written: Counter[Kind], resource: str) -> dict[Kind, int]:
    return {kind: count for kind, count in written.items() if kind.resource == resource}


def _figure(name: str, what: str, counted: dict[Kind, int], seconds: float) -> Figure:
    parts = ", ".join(f"{kind.verb.lower()} {kind.resource} {count / seconds:.1f}" for kind, count in counted.items())
    return Figure(name=name, what=what, value=sum(counted.values()) / seconds, unit="/s", aside=parts)


async def _written(on: System) -> Counter[Kind]:
    return parse(await on.plane.api.read("/metrics"), _LEFT_OUT)
