"""Guards of what a controller knows: what is old, what is really gone, what was created."""

from functools import partial
from typing import Any

from torpor_api.cache import store
from torpor_api.cache.store import Store
from torpor_operator import __main__ as operator_main
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.model.snapshot import Presence
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes

from tests.simulation.mutants.mutant import Mutant, put


def _high_water() -> None:
    put(
        instance_indexes,
        "known",
        lambda *known: {
            frame: InstanceIndexes(made=instance_indexes.positions(runs)) for frame, runs in known[-1].items()
        },
    )


def _seen_creation() -> None:
    put(ClusterCache, "_note_creation", lambda *_: None)


def _sync() -> None:
    async def lead(_observer: Any, reconciler: Any, _clock: Any) -> None:
        await reconciler.run()

    put(operator_main, "_lead", lead)


def _fresh_list() -> None:
    async def lead(cache: Any, reconciler: Any, _clock: Any) -> None:
        await cache.taskruns.synced.wait()
        await cache.pods.synced.wait()
        await reconciler.run()

    put(operator_main, "_lead", lead)


def _relist_diff() -> None:
    put(Store, "settle", lambda self, _, version: self.advance(version))


def _older_word() -> None:
    put(store, "version_of", lambda _: 10**9)
    put(Store, "advance", lambda *_: None)


def _resurrection() -> None:
    put(Store, "absorb", Store.upsert)


def _confirm(kind: str) -> None:
    async def gone(*_: Any) -> Presence:
        return Presence.GONE

    put(QueryResolver, kind, gone)


MUTANTS = (
    Mutant(name="high-water mark", without="what is absent is created", switch=_high_water),
    Mutant(name="seen creation", without="what was created is known once the status says so", switch=_seen_creation),
    Mutant(name="sync before planning", without="a leader plans on stores that are not filled", switch=_sync),
    Mutant(
        name="fresh list of a new leader",
        without="a new leader plans on what its watches have brought so far",
        switch=_fresh_list,
    ),
    Mutant(name="relist diff", without="what vanished unseen stays in the store", switch=_relist_diff),
    Mutant(name="older word", without="an older version undoes a newer one", switch=_older_word),
    Mutant(name="resurrection", without="an answer brings back what was seen to go", switch=_resurrection),
    Mutant(name="confirm pod", without="a pod that the store lacks is gone", switch=partial(_confirm, "_confirm_pod")),
    Mutant(name="confirm TaskRun", without="a TaskRun it lacks is gone", switch=partial(_confirm, "_confirm_taskrun")),
)
