"""Guards of leader election: a single leader, which stops in time and checks its Lease before each write."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Never

from torpor_kubernetes.client.lease import Leadership
from torpor_operator import app
from torpor_operator.controller.cluster_writer import ClusterWriter

from tests.simulation.mutants.mutant import Mutant, put


def _lease() -> None:
    async def run(_: Leadership, lead: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await lead()

    put(Leadership, "run", run)
    put(Leadership, "holds", lambda _: True)


def _no_renewals() -> None:
    async def never(_: object) -> Never:
        while True:
            await asyncio.get_running_loop().create_future()

    put(app, "Leadership", partial(Leadership, run_renewals=never))


def _no_check_before_write() -> None:
    def build(*args: Any, **kwargs: Any) -> ClusterWriter:
        return ClusterWriter(*args, **kwargs | {"is_leader": lambda: True})

    put(app, "ClusterWriter", build)


def _drain() -> None:
    async def leave(_: ClusterWriter) -> None:
        return

    put(ClusterWriter, "drain", leave)


MUTANTS = (
    Mutant(name="lease", without="every replica leads", switch=_lease),
    Mutant(name="lease expiry", without="a leader that cannot renew continues to lead", switch=_no_renewals),
    Mutant(
        name="lease check before write",
        without="a paused leader finishes its pending write after it resumes",
        switch=_no_check_before_write,
    ),
    Mutant(
        name="writes before the release",
        without="a stopping leader releases the Lease during a write",
        switch=_drain,
    ),
)
