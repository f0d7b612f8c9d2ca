"""How fast waits that are due become Scheduled: all at one moment, beside a bare client, and a steady stream."""

import statistics
import time
from collections.abc import Mapping

from torpor_crds.models.taskrun import TaskRun

from benchmarks.harness.figures import Figure, quantile
from benchmarks.triggerer import bare_client, waits
from benchmarks.triggerer.observer import observing
from benchmarks.triggerer.replicas import open_replicas
from benchmarks.triggerer.waits import TriggererBench

_AHEAD = 3.0


async def at_once(on: TriggererBench) -> list[Figure]:
    """Many due at one moment; the bare client's turn after each of the triggerer's."""
    ours, bare = [], []
    for _ in range(on.sizes.rounds):
        ours.append(await _triggerer(on))
        bare.append(await _bare(on))
    count, rate, least = on.sizes.few, statistics.median(ours), statistics.median(bare)
    rounds = ", ".join(f"{rate:.0f} to {other:.0f}" for rate, other in zip(ours, bare, strict=True))
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


async def steady(on: TriggererBench) -> list[Figure]:
    """So many a second while very many others wait; then the same by the bare client."""
    await on.waits.add(waits.sleeping(on.sizes.many))
    _, due = await _stream(on, _AHEAD + on.sizes.many / 400)
    async with open_replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start("--capacity", str(on.sizes.many + 10_000))
        await replica.runs(on.sizes.many + len(due))
        _in_time(min(due.values()))
        await replica.settled()
        before = replica.cpu()
        await observer.reach(len(due))
        spent = replica.cpu() - before
    taskruns, later = await _stream(on, _AHEAD + bare_client.AHEAD + on.sizes.rate * on.sizes.steady / 250)
    async with observing(on.plane) as other:
        await bare_client.patched(on.plane, taskruns, later)
        await other.reach(len(later))
    await on.waits.clear()
    late, least = observer.late(due), other.late(later)
    decided = 1000 * quantile([observer.seen[name].fired_at - at for name, at in due.items()], 0.99)
    what = f"{on.sizes.rate:.0f} fires a second with {on.sizes.many:,} idle, due to seen Scheduled"
    asides = {0.5: "", 0.99: f"; to firedAt {decided:.0f} ms; {spent:.1f} s of processor time"}
    return [
        Figure(
            name=f"steady_p{100 * share:.0f}",
            what=f"{what}, p{100 * share:.0f}",
            value=1000 * quantile(late, share),
            unit="ms",
            goal=goal,
            aside=f"the bare client {1000 * quantile(least, share):.0f} ms{asides[share]}",
        )
        for share, goal in ((0.5, ""), (0.99, "100 ms"))
    ]


async def _stream(on: TriggererBench, ahead: float) -> tuple[Mapping[str, TaskRun], dict[str, float]]:
    specs = waits.timers(list(waits.evenly(time.time() + ahead, on.sizes.rate, on.sizes.steady)))
    taskruns = await on.waits.add(specs)
    return taskruns, waits.due(specs, taskruns)


def _in_time(moment: float) -> None:
    if time.time() > moment:
        raise SystemExit("the waits were due before all ran: nothing is measured so")


async def _triggerer(on: TriggererBench) -> float:
    """Fires a second."""
    moment = time.time() + 2 * _AHEAD + on.sizes.few / 400
    await on.waits.add(waits.timers(waits.at_once(moment, on.sizes.few)))
    async with open_replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start()
        await replica.runs(on.sizes.few)
        _in_time(moment)
        rate = on.sizes.few / (await observer.reach(on.sizes.few) - moment)
    await on.waits.clear()
    return rate


async def _bare(on: TriggererBench) -> float:
    """The same of the bare client."""
    taskruns = await on.waits.add(waits.timers(waits.at_once(time.time() + 86_400, on.sizes.few)))
    moment = time.time() + bare_client.AHEAD
    async with observing(on.plane) as observer:
        await bare_client.patched(on.plane, taskruns, dict.fromkeys(taskruns, moment))
        rate = on.sizes.few / (await observer.reach(on.sizes.few) - moment)
    await on.waits.clear()
    return rate
