"""`python -m benchmarks.failover`: from SIGKILL of the leading operator to the next task pod that is created.

Two ways to die, at default durations. `process`: its container is started again, as the kubelet does, and finds the
Lease in its own name. `pod`: it never comes back, as with its node, and the other replica waits for the Lease to run
out. Many short tasks are under way, so that a pod is due at any moment; counted is from before the signal is sent.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from torpor_demo import images
from torpor_demo.install import SYSTEM, roll_out
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import LEASES, PODS, WORKFLOWS
from torpor_wire import times

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.harness.waiting import Object, new_events
from tests.e2e.support import node

GOAL = 20.0
WAYS = ("process", "pod")
_DEPLOYMENT = "deployment/torpor-operator"
_REPLICAS = "app.kubernetes.io/component=operator"
_PROGRAM = "torpor_operator"
_UNDER_WAY = 4  # pods, before anything is killed
_RENEWAL = 5.0  # the Lease's: a round may fall anywhere in it
_LIMIT = 120.0
_SPEC = {
    "image": images.CENSUS.name,
    "runtime": "Image",
    "parallelism": 2,
    "tasks": [
        {
            "name": "it",
            "python": "census.tasks:sections",
            "expand": [{"name": "largest", "over": list(range(300))}],
        }
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """One round: how long nothing was started, in seconds, and whether another pod leads since."""

    seconds: float
    another: bool


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each way to die")
    given = parser.parse_args()
    rounds = asyncio.run(_measure(given.rounds))
    figures = [figure for way, takeovers in rounds.items() for figure in _figures(way, takeovers)]
    program.report(given, "failover", figures)


def _figures(way: str, takeovers: Sequence[Takeover]) -> list[Figure]:
    seconds = [each.seconds for each in takeovers]
    another = sum(each.another for each in takeovers)
    values = {"min": min(seconds), "median": statistics.median(seconds), "max": max(seconds)}
    what = f"SIGKILL of the leader, to the next task pod ({way}, {len(takeovers)} rounds)"
    aside = {"max": f"another pod led in {another} of {len(takeovers)}"}
    return [
        Figure(
            name=f"{way}_{name}_s",
            what=f"{what}, {name}",
            value=value,
            unit="s",
            goal=f"{GOAL:.0f} s",
            aside=aside.get(name, ""),
        )
        for name, value in values.items()
    ]


async def _measure(rounds: int) -> dict[str, list[Takeover]]:
    takeovers: dict[str, list[Takeover]] = {way: [] for way in WAYS}
    async with bench_cluster(list(images.ALL)) as on:
        for _ in range(rounds):
            for way in WAYS:
                takeovers[way].append(await _round(on, way))
    return takeovers


async def _round(on: BenchCluster, way: str) -> Takeover:
    leader = await _fresh_leader(on)
    where, processes = await asyncio.to_thread(node.running, on.kubectl, leader, _PROGRAM)
    run = await on.start(_SPEC)
    created = PodCreations()
    async with new_events(on.api, PODS, NAMESPACE, created.note), asyncio.timeout(_LIMIT):
        await created.reach(_UNDER_WAY)
        await asyncio.sleep(random.uniform(0, _RENEWAL))
        begun = time.monotonic()
        await asyncio.to_thread(node.end, where, processes)
        dead = time.time()
        if way == "pod":
            await asyncio.to_thread(_remove, on.kubectl, leader)
        resumed = await created.after(dead)
        another = await _leader(on) != leader
    await on.api.delete(WORKFLOWS, NAMESPACE, run)
    return Takeover(seconds=resumed - begun, another=another)


async def _fresh_leader(on: BenchCluster) -> str:
    """A leader whose container was never started again: one that was is left to wait before it is the next time."""
    while True:
        await asyncio.to_thread(roll_out, on.kubectl, _DEPLOYMENT)
        leader = await _leader(on)
        pods = (await on.api.list(PODS, SYSTEM, label_selector=_REPLICAS)).items
        pod_body = next((pod for pod in pods if pod["metadata"]["name"] == leader), None)
        if pod_body is None:
            await asyncio.sleep(1)  # the Lease of one that is no more has to run out
        elif pod_body["status"]["containerStatuses"][0]["restartCount"]:
            await asyncio.to_thread(on.kubectl.run, "delete", "pod", leader, "-n", SYSTEM)
        else:
            return leader


async def _leader(on: BenchCluster) -> str:
    holder: str = (await on.api.get(LEASES, SYSTEM, "torpor-operator"))["spec"]["holderIdentity"]
    return holder


def _remove(kubectl: Kubectl, pod: str) -> None:
    kubectl.run("delete", "pod", pod, "-n", SYSTEM, "--force", "--grace-period=0", "--wait=false")


class PodCreations:
    """The pods of tasks that were seen to be created: when they were seen (monotonic), and made (whole seconds)."""

    def __init__(self) -> None:
        self.creations: list[tuple[float, float]] = []
        self._changed = asyncio.Event()

    def note(self, kind: str, body: Object, _: float) -> None:
        """Take in an event of the watch."""
        if kind == "ADDED":
            self.creations.append((time.monotonic(), times.epoch(body["metadata"]["creationTimestamp"])))
            self._changed.set()

    async def reach(self, count: int) -> None:
        """Return once there are so many."""
        while len(self.creations) < count:
            await self._next()

    async def after(self, moment: float) -> float:
        """When the first was seen that was made in a later second than `moment` (epoch).

        A pod that the killed leader made in its last second may be seen late, and is not counted.
        """
        while not self.creations or self.creations[-1][1] <= moment:
            await self._next()
        return next(seen for seen, created in self.creations if created > moment)

    async def _next(self) -> None:
        self._changed.clear()
        await self._changed.wait()


if __name__ == "__main__":
    main()
