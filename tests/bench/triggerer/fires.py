"""How fast waits that are due become Scheduled: all at one moment, beside a bare client, and a steady stream."""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlencode

from torpor_api.resources import TASKRUNS
from torpor_api.taskrun import TaskRun
from torpor_demo.cluster import ROOT
from torpor_triggerer import streams
from torpor_triggerer.settings import CONCURRENCY
from torpor_wire import edge, keys

from tests.bench.triggerer import scene, usage
from tests.bench.triggerer.bare import Work
from tests.bench.triggerer.figures import Figure, quantile
from tests.bench.triggerer.observer import observing
from tests.bench.triggerer.plane import NAMESPACE
from tests.bench.triggerer.replica import replicas
from tests.bench.triggerer.scene import Scene

_AHEAD = 3.0
_SPAWNED = 4.0
"""The bare client is up and has read its work by then."""


async def at_once(on: Scene) -> list[Figure]:
    """Many due at one moment; the bare client's turn after each of the triggerer's."""
    ours, bare = [], []
    for _ in range(on.sizes.rounds):
        ours.append(await _triggerer(on))
        bare.append(await _bare(on))
    count, rate, least = on.sizes.few, statistics.median(ours), statistics.median(bare)
    rounds = ", ".join(f"{one:.0f} to {other:.0f}" for one, other in zip(ours, bare, strict=True))
    what = f"{count:,} due at one moment"
    return [
        Figure(
            name=f"burst_seconds_{count}",
            what=f"{what}, until all are Scheduled",
            value=count / rate,
            unit="s",
        ),
        Figure(name=f"burst_rate_{count}", what=f"{what}, fires a second", value=rate, unit="/s"),
        Figure(
            name="burst_ratio",
            what="the same against a bare asyncio client",
            value=rate / least,
            unit="of its rate",
            goal="0.8",
            aside=f"rounds: {rounds} a second",
        ),
    ]


async def steady(on: Scene) -> list[Figure]:
    """So many a second while very many others wait."""
    await on.waits.add(scene.sleeping(on.sizes.many))
    async with replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start("--capacity", str(on.sizes.many + 10_000))
        await replica.runs(on.sizes.many)
        await replica.settled()
        moments = list(scene.evenly(time.time() + _AHEAD, on.sizes.rate, on.sizes.steady))
        asked = scene.timers(moments)
        due = scene.due(asked, await on.waits.add(asked, live=True))
        before = usage.cpu(replica.pid)
        await observer.reach(len(moments))
        spent = usage.cpu(replica.pid) - before
        late = [observer.seen[name].at - at for name, at in due.items()]
        decided = [observer.seen[name].fired_at - at for name, at in due.items()]
    await on.waits.clear()
    what = f"{on.sizes.rate:.0f} fires a second with {on.sizes.many:,} idle, due to seen Scheduled"
    aside = f"to firedAt {1000 * quantile(decided, 0.99):.0f} ms; {spent:.1f} s of processor time"
    return [
        Figure(name="steady_p50", what=f"{what}, p50", value=1000 * quantile(late, 0.5), unit="ms"),
        Figure(
            name="steady_p99",
            what=f"{what}, p99",
            value=1000 * quantile(late, 0.99),
            unit="ms",
            goal="100 ms",
            aside=aside,
        ),
    ]


async def _triggerer(on: Scene) -> float:
    """Fires a second."""
    moment = time.time() + 2 * _AHEAD + on.sizes.few / 250
    await on.waits.add(scene.timers(scene.at_once(moment, on.sizes.few)))
    async with replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start()
        await replica.runs(on.sizes.few)
        if time.time() > moment:
            raise SystemExit("the waits were due before they ran; let them be due later")
        rate = on.sizes.few / (await observer.reach(on.sizes.few) - moment)
    await on.waits.clear()
    return rate


async def _bare(on: Scene) -> float:
    made = await on.waits.add(scene.timers(scene.at_once(time.time() + 86_400, on.sizes.few)))
    moment = time.time() + _SPAWNED
    work = _work(on, made, moment)
    async with observing(on.plane) as observer:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(asdict(work)))
            file.flush()
            process = await asyncio.create_subprocess_exec(
                ROOT / ".venv/bin/python", "-m", "tests.bench.triggerer.bare", file.name, cwd=ROOT
            )
            rate = on.sizes.few / (await observer.reach(on.sizes.few) - moment)
            if await process.wait():
                raise SystemExit("the bare client failed")
    await on.waits.clear()
    return rate


def _work(on: Scene, made: Mapping[str, TaskRun], moment: float) -> Work:
    (whole,) = streams.selectors(keys.DEFAULT_POOL, frozenset(range(keys.SHARDS)))
    query = {"watch": "1", "fieldSelector": whole, "allowWatchBookmarks": "true"}
    return Work(
        url=on.plane.url,
        authority=str(on.plane.account / "ca.crt"),
        token=Path(on.plane.account / "token").read_text(),
        at=moment,
        concurrency=CONCURRENCY,
        watch=f"{TASKRUNS.path(None)}?{urlencode(query)}",
        patches=[(TASKRUNS.path(NAMESPACE, name, "status"), _fire(one, moment)) for name, one in made.items()],
    )


def _fire(found: TaskRun, moment: float) -> str:
    asked = found.status.trigger
    event = json.loads(asked.kwargs)["at"] if asked else None
    return json.dumps(edge.fire(found.pin(), json.dumps(event), deferred=10.0, now=moment))
