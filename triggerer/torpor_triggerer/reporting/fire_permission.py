"""Whether this triggerer may `fire` its pool in a namespace: asked of the API server before a trigger runs there.

Any TaskRun may name any pool. The fence refuses the outcome of a pool that is not bound in the TaskRun's namespace, but
by then the trigger has run, with the pool's network and its clients. One answer serves all waits of a namespace, for a
bounded time. A namespace that is denied is asked about again with growing pauses, once for all of its waits.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import SELF_ACCESS_REVIEWS
from torpor_wire.backoff import Backoff

ALLOWED_SECONDS = 300.0
"""A right that is taken away may be relied on for as long; what a trigger finds then, the fence keeps from counting."""
RETRY_DENIED = Backoff(first=1.0, cap=60.0, jitter=0.0)
UNAVAILABLE_DELAY = 5.0
FIRM = 3
"""A denial is told after so many answers: an API server that is just starting denies everything."""
KEPT = 1000

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Answer:
    """`denials`: how many in a row; a server that gave no answer adds none."""

    allowed: bool
    until: float
    denials: int = 0
    message: str = ""


class FirePermission:
    """The answers for one pool, by namespace."""

    def __init__(self, api: Api, pool: str) -> None:
        self._api = api
        self._clock = api.clock
        self._pool = pool
        self._answers: LRUCache[str, _Answer] = LRUCache(KEPT)
        self._asking: LRUCache[str, asyncio.Lock] = LRUCache(KEPT)

    def is_granted(self, namespace: str) -> bool:
        """Whether it is known without asking."""
        known = self._fresh(namespace)
        return known is not None and known.allowed

    async def granted(self, namespace: str, on_wait: Callable[[str, bool], None]) -> None:
        """Return once it is allowed; `on_wait` gets a message each time that it is not, and whether that is sure."""
        while True:
            answer = await self._answer(namespace)
            if answer.allowed:
                return
            on_wait(answer.message, answer.denials >= FIRM)
            pause = max(answer.until - self._clock.monotonic(), 0.0)
            await self._clock.sleep(pause + RETRY_DENIED.first * self._api.jitter())

    async def _answer(self, namespace: str) -> _Answer:
        """What is known, or the answer to one question for all who want to know."""
        lock = self._asking.setdefault(namespace, asyncio.Lock())
        async with lock:
            known = self._fresh(namespace)
            if known is None:
                known = self._answers[namespace] = await self._ask(namespace)
        return known

    def _fresh(self, namespace: str) -> _Answer | None:
        known = self._answers.get(namespace)
        return known if known is not None and self._clock.monotonic() < known.until else None

    async def _ask(self, namespace: str) -> _Answer:
        former = self._answers.get(namespace)
        denials = former.denials if former is not None else 0
        try:
            allowed = await self._review(namespace)
        except errors.ApiError as error:
            message = f"the API server cannot be asked whether pool {self._pool} may fire here: {error.message}"
            return _Answer(allowed=False, until=self._in(UNAVAILABLE_DELAY), denials=denials, message=message)
        if allowed:
            return _Answer(allowed=True, until=self._in(ALLOWED_SECONDS))
        message = self._denial(namespace)
        if denials + 1 == FIRM:
            log.warning("%s", message)
        until = self._in(RETRY_DENIED.delay(denials + 1))
        return _Answer(allowed=False, until=until, denials=denials + 1, message=message)

    def _in(self, seconds: float) -> float:
        return self._clock.monotonic() + seconds

    def _denial(self, namespace: str) -> str:
        role = f"torpor-triggerer-pool-{self._pool}"
        return (
            f"the triggerers of pool {self._pool} may not fire in namespace {namespace}, so they do not run its "
            f"triggers. Name another triggerPool, or let them: kubectl -n {namespace} create rolebinding {role} "
            f"--clusterrole={role} --serviceaccount=NAMESPACE:ACCOUNT, with the ServiceAccount of the triggerers"
        )

    async def _review(self, namespace: str) -> bool:
        asked = {"namespace": namespace, "verb": "fire", "group": "torpor.dev", "resource": "triggerpools"}
        body = {
            "apiVersion": SELF_ACCESS_REVIEWS.api_version,
            "kind": SELF_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": asked | {"name": self._pool}},
        }
        status = (await self._api.create(SELF_ACCESS_REVIEWS, None, body)).get("status") or {}
        return status.get("allowed") is True
