"""The reconcile loop: in which order a new leader reconciles what changed while it waited for the Lease."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client.resources import WORKFLOWS, Resource
from torpor_operator.controller.reconcile_loop import ReconcileLoop
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_wire.retry import Backoff

from tests.support.fake_api import VirtualClock

SMALL, LARGE = Key("ns", "small"), Key("ns", "large")


@dataclass
class PassNotes:
    failures: int = 0
    cooldown_until: float = 0.0


class TwoObjects:
    resource = WORKFLOWS

    def keys(self) -> list[Key]:
        return [SMALL, LARGE]

    def uid(self, key: Key) -> str:
        return key.name

    def unreadable(self, _key: Key) -> Unreadable | None:
        return None

    async def refresh(self) -> None:
        pass

    async def drop_deleted(self) -> None:
        pass


class NoGuard:
    async def reconcile(
        self, _resource: Resource, _ref: ObjectRef, reconcile: Callable[[], Awaitable[float | None]]
    ) -> float | None:
        return await reconcile()


async def test_a_new_leader_begins_in_the_order_of_its_objects() -> None:
    clock, order = VirtualClock(), list[Key]()
    queue = WorkQueue(clock)
    for key in (LARGE, SMALL):  # as its watches reported them before it led
        queue.add(key)
    loop = ReconcileLoop[PassNotes](
        TwoObjects(),
        queue,
        PassNotes,
        clock=clock,
        reporter=cast("UnreadableReporter", None),
        resync=300.0,
        workers=2,
        backoff=Backoff(first=1.0, cap=1.0),
        jitter=lambda: 0.5,
        guard=cast("WorkGuard", NoGuard()),
    )

    async def reconcile(key: Key, _notes: Any) -> None:
        order.append(key)

    running = asyncio.create_task(loop.run(reconcile))
    await clock.advance(1.0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert order == [SMALL, LARGE]
