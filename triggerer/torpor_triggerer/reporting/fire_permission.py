"""Checks with the API server whether this pool may fire in a namespace, before a trigger runs there.

Any TaskRun can name any pool. The admission policy rejects the outcome of a pool that is not bound in the namespace,
but by then the trigger has run with the pool's network access and clients. All waits of a namespace share one review,
for a limited time; a denied namespace is reviewed again with back-off.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import SELF_ACCESS_REVIEWS
from torpor_wire.retry import Backoff

ALLOWED_SECONDS = 300.0
"""A revoked permission counts for as long; the admission policy still rejects what a trigger finds then."""
RETRY_DENIED = Backoff(first=1.0, cap=60.0, jitter=0.0)
UNAVAILABLE_DELAY = 5.0
FINAL_DENIALS = 3
"""Denials in a row before one is reported: an API server that is starting denies everything."""
NAMESPACES = 1000

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Review:
    """The result of a review. `denials`: in a row; a request that failed adds none."""

    allowed: bool
    until: float
    denials: int = 0
    message: str = ""


class FirePermission:
    """The reviews of one pool, by namespace."""

    def __init__(self, api: Api, pool: str) -> None:
        self._api = api
        self._clock = api.clock
        self._pool = pool
        self._reviews: LRUCache[str, _Review] = LRUCache(NAMESPACES)
        self._locks: LRUCache[str, asyncio.Lock] = LRUCache(NAMESPACES)

    def is_granted(self, namespace: str) -> bool:
        """Whether the permission is known, without a request."""
        known = self._fresh(namespace)
        return known is not None and known.allowed

    async def wait_until_granted(self, namespace: str, on_denied: Callable[[str, bool], None]) -> None:
        """Return once the pool may fire. `on_denied` gets the message of each denial, and whether it is final."""
        while True:
            review = await self._review(namespace)
            if review.allowed:
                return
            on_denied(review.message, review.denials >= FINAL_DENIALS)
            pause = max(review.until - self._clock.monotonic(), 0.0)
            await self._clock.sleep(pause + RETRY_DENIED.first * self._api.jitter())

    async def _review(self, namespace: str) -> _Review:
        """The known review, or a new one for all waits of the namespace."""
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            known = self._fresh(namespace)
            if known is None:
                known = self._reviews[namespace] = await self._new_review(namespace)
        return known

    def _fresh(self, namespace: str) -> _Review | None:
        known = self._reviews.get(namespace)
        return known if known is not None and self._clock.monotonic() < known.until else None

    async def _new_review(self, namespace: str) -> _Review:
        former = self._reviews.get(namespace)
        denials = former.denials if former is not None else 0
        try:
            allowed = await self._request(namespace)
        except errors.ApiError as error:
            message = f"failed to review whether pool {self._pool} may fire here: {error.message}"
            return _Review(allowed=False, until=self._in(UNAVAILABLE_DELAY), denials=denials, message=message)
        if allowed:
            return _Review(allowed=True, until=self._in(ALLOWED_SECONDS))
        message = self._denial(namespace)
        if denials + 1 == FINAL_DENIALS:
            log.warning("%s", message)
        until = self._in(RETRY_DENIED.delay(denials + 1))
        return _Review(allowed=False, until=until, denials=denials + 1, message=message)

    def _in(self, seconds: float) -> float:
        return self._clock.monotonic() + seconds

    def _denial(self, namespace: str) -> str:
        role = f"torpor-triggerer-pool-{self._pool}"
        return (
            f"the triggerers of pool {self._pool} may not fire in namespace {namespace}, so they do not run its "
            f"triggers. Name another triggerPool, or allow it: kubectl -n {namespace} create rolebinding {role} "
            f"--clusterrole={role} --serviceaccount=NAMESPACE:ACCOUNT, with the ServiceAccount of the triggerers"
        )

    async def _request(self, namespace: str) -> bool:
        attributes = {"namespace": namespace, "verb": "fire", "group": "torpor.dev", "resource": "triggerpools"}
        body = {
            "apiVersion": SELF_ACCESS_REVIEWS.api_version,
            "kind": SELF_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": attributes | {"name": self._pool}},
        }
        status = (await self._api.create(SELF_ACCESS_REVIEWS, None, body)).get("status") or {}
        return status.get("allowed") is True
