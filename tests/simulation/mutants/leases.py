"""Guards of leader election: a single leader, which stops in time and checks its Lease before each write."""

from collections.abc import Callable, Coroutine
from typing import Any

from torpor_kubernetes.client import lease
from torpor_operator.controller.cluster_writer import ClusterWriter

from tests.simulation.mutants.mutant import Mutant, put


def _lease() -> None:
    async def run(_: lease.Leadership, lead: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await lead()

    put(lease.Leadership, "run", run)
    put(lease.Leadership, "holds", lambda _: True)


def _given_up() -> None:
    async def keep(self: Any) -> None:
        while True:
            await self._clock.sleep(1e6)

    put(lease.Leadership, "_keep", keep)


def _asked_before_each_write() -> None:
    made = ClusterWriter.__init__

    def init(self: ClusterWriter, *args: Any, is_leader: Any = None, **kwargs: Any) -> None:
        made(self, *args, **kwargs)

    put(ClusterWriter, "__init__", init)


def _drain() -> None:
    async def leave(_: ClusterWriter) -> None:
        return

    put(ClusterWriter, "drain", leave)


MUTANTS = (
    Mutant(name="lease", without="every replica leads", switch=_lease),
    Mutant(name="lease expiry", without="a leader that cannot renew continues to lead", switch=_given_up),
    Mutant(
        name="lease check before write",
        without="a paused leader finishes its pending write after it resumes",
        switch=_asked_before_each_write,
    ),
    Mutant(
        name="writes before the release",
        without="a stopping leader releases the Lease during a write",
        switch=_drain,
    ),
)
