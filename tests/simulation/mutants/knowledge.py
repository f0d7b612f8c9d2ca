"""Guards of the controllers' caches: outdated versions, deletions and created instances."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from torpor_kubernetes.cache import store
from torpor_kubernetes.cache.reflector import Reflector
from torpor_kubernetes.cache.store import CacheStore
from torpor_operator import app
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.model.actions import ConfirmPod, ConfirmTaskRun, Need
from torpor_operator.model.snapshot import Answer, Presence
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.taskrun.cache_index import SeenInstances

from tests.simulation.mutants.mutant import Mutant, put


def _high_water() -> None:
    put(
        instance_indexes,
        "known",
        lambda *known: {
            group_path: InstanceIndexes(created=instance_indexes.positions(runs))
            for group_path, runs in known[-1].items()
        },
    )


def _seen_creation() -> None:
    put(SeenInstances, "add", lambda *_: None)


def _sync() -> None:
    async def lead(_cache: Any, _clock: Any, *loops: Any) -> None:
        await asyncio.gather(*(loop() for loop in loops))

    async def at_once(_cache: Any) -> None:
        return

    put(app, "lead", lead)
    put(app, "full_caches", at_once)


def _fresh_caches() -> None:
    async def lead(_cache: Any, _clock: Any, *loops: Any) -> None:
        await asyncio.gather(*(loop() for loop in loops))

    put(app, "lead", lead)


def _committed_version() -> None:
    async def nothing(_self: Reflector[Any], _scope: str | None) -> int:
        return 0

    put(Reflector, "committed_version", nothing)


def _relist_diff() -> None:
    put(CacheStore, "settle", lambda self, _, *progress: self.advance(*progress))


def _older_word() -> None:
    put(store, "version_of", lambda _: 10**9)
    put(CacheStore, "advance", lambda *_: None)


def _resurrection() -> None:
    put(CacheStore, "absorb", CacheStore.upsert)


def _unconfirmed(kind: type[Need]) -> None:
    resolve = QueryResolver.resolve

    async def without_read(self: QueryResolver, queries: Iterable[Need], **options: Any) -> dict[Need, Answer]:
        pending = list(queries)
        answers = await resolve(self, [query for query in pending if not isinstance(query, kind)], **options)
        return answers | {query: Presence.GONE for query in pending if isinstance(query, kind)}

    put(QueryResolver, "resolve", without_read)


MUTANTS = (
    Mutant(name="created instances", without="an absent instance is created again", switch=_high_water),
    Mutant(
        name="own creations",
        without="a created instance counts only once the status contains it",
        switch=_seen_creation,
    ),
    Mutant(name="cache sync before planning", without="a new leader plans before its caches have synced", switch=_sync),
    Mutant(
        name="fresh caches of a new leader",
        without="a new leader plans from its watch caches",
        switch=_fresh_caches,
    ),
    Mutant(
        name="version of a catch-up",
        without="a new leader reads the changes up to any version",
        switch=_committed_version,
    ),
    Mutant(name="relist diff", without="an object deleted during a watch gap stays in the cache", switch=_relist_diff),
    Mutant(name="version order", without="an older version replaces a newer one", switch=_older_word),
    Mutant(name="deleted objects", without="a late response restores a deleted object", switch=_resurrection),
    Mutant(
        name="confirm missing pod",
        without="a pod that the cache lacks counts as deleted",
        switch=partial(_unconfirmed, ConfirmPod),
    ),
    Mutant(
        name="confirm missing TaskRun",
        without="a TaskRun that the cache lacks counts as deleted",
        switch=partial(_unconfirmed, ConfirmTaskRun),
    ),
)
