"""The lower bound: bare pods with one container from a plain client, on the same nodes."""

import asyncio
import time
from typing import Any

from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.client.resources import PODS

from benchmarks.workflow import plane, processes
from benchmarks.workflow.measurement import Measurement
from benchmarks.workflow.plane import NAMESPACE, Plane
from benchmarks.workflow.processes import Interval

_CREATORS = 16
_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


async def floor(count: int) -> Measurement:
    """Measure `count` pods, from the first request until the last has succeeded."""
    async with plane.plane() as at, processes.nodes(at) as hands:
        done: set[str] = set()
        over = asyncio.Event()

        def note(change: Notice[tuple[str, str]]) -> None:
            item = getattr(change, "item", None)
            if item is not None and item[1] == "Succeeded":
                done.add(item[0])
                if len(done) == count:
                    over.set()

        pods: Reflector[tuple[str, str]] = Reflector(at.api, PODS, _phase, on_change=note, jitter=lambda: 0.5)
        watching = asyncio.create_task(pods.run())
        await pods.synced.wait()
        interval = Interval.begin(hands)
        await _create(at, count)
        await over.wait()
        taken = Measurement(
            name=f"floor of {count}", tasks=count, wall=time.monotonic() - interval.began, cpu=interval.cpu()
        )
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return taken


async def _create(at: Plane, count: int) -> None:
    room = asyncio.Semaphore(_CREATORS)

    async def one(number: int) -> None:
        async with room:
            await at.api.create(PODS, NAMESPACE, _body(f"bare-{number}"))

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))


def _body(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "bench", "securityContext": _SECURITY}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]},
    }


def _phase(body: dict[str, Any]) -> tuple[str, str]:
    return body["metadata"]["name"], body.get("status", {}).get("phase", "")
