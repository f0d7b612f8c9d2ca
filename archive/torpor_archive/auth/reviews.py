"""What the API server says of who asks: whose a token is, what they may do, and what a TaskRun stands at.

Refusals are never kept, so that a right that was just given holds at once.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import ACCESS_REVIEWS, TASKRUNS, Resource
from torpor_api.timing import Clock
from torpor_wire import constants

from torpor_archive import errors as refusal
from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, Standing
from torpor_archive.errors import RefusedError

K = TypeVar("K")
V = TypeVar("V")

SECONDS = 10.0
ENTRIES = 4096


class Cache(Generic[K, V]):
    """Values by key; the oldest goes first."""

    def __init__(self, clock: Clock, *, seconds: float = SECONDS, entries: int = ENTRIES) -> None:
        self._clock = clock
        self._seconds = seconds
        self._entries = entries
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """What was kept, while it is young enough."""
        found = self._kept.get(key)
        return None if found is None or found[0] < self._clock.monotonic() else found[1]

    def keep(self, key: K, value: V) -> V:
        """Keep it, and give it back."""
        self._kept.pop(key, None)
        self._kept[key] = (self._clock.monotonic() + self._seconds, value)
        if len(self._kept) > self._entries:
            del self._kept[next(iter(self._kept))]
        return value


TOKENS = Resource(
    group="authentication.k8s.io", version="v1", plural="tokenreviews", kind="TokenReview", namespaced=False
)
PAUSES = (0.2, 0.5, 1.0)
"""Seconds before a review is asked for again: it changes nothing, so it may be."""


class Reviews:
    """Asks, and keeps for some seconds what was allowed."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._callers: Cache[tuple[bytes, bool], Caller] = Cache(api.clock)
        self._allowed: Cache[tuple[str, ...], bool] = Cache(api.clock)
        self._standings: Cache[tuple[str, str], Standing] = Cache(api.clock)

    async def pod(self, token: str) -> Caller:
        """Whose token of the archive's audience this is. Raises RefusedError (401)."""
        return await self._caller(token, only_ours=True)

    async def person(self, token: str) -> Caller:
        """The same of a token that may also be one for the API server, as people and the operator have."""
        return await self._caller(token, only_ours=False)

    async def stands(self, namespace: str, name: str) -> Standing:
        """A TaskRun, as it is now. Raises RefusedError (403) where there is none."""
        return self._standings.keep((namespace, name), await self._read(namespace, name))

    async def stood(self, namespace: str, name: str, who: Caller) -> Standing:
        """A TaskRun as it was some seconds ago, where it was this pod's then: another may just have claimed it."""
        kept = self._standings.get((namespace, name))
        return kept if kept and kept.pod_uid == who.pod_uid else await self.stands(namespace, name)

    async def may(self, who: Caller, verb: str, plural: str, namespace: str, name: str = "") -> bool:
        """Whether they may do this to Torpor's objects there, as the API server's authorizer says."""
        key = (who.user, who.uid, *who.groups, verb, plural, namespace, name)
        if self._allowed.get(key):
            return True
        asked: dict[str, Any] = {
            "verb": verb,
            "group": constants.GROUP,
            "version": constants.VERSION,
            "resource": plural,
        }
        asked |= {"namespace": namespace} | ({"name": name} if name else {})
        extra = {key: list(values) for key, values in who.extra.items()}
        spec = {"user": who.user, "uid": who.uid, "groups": list(who.groups), "extra": extra}
        status = await self._review(ACCESS_REVIEWS, spec | {"resourceAttributes": asked})
        allowed = status.get("allowed") is True
        return self._allowed.keep(key, value=True) if allowed else False

    async def _caller(self, token: str, *, only_ours: bool) -> Caller:
        key = (hashlib.sha256(token.encode()).digest(), only_ours)
        kept = self._callers.get(key)
        return kept or self._callers.keep(key, await self._asked(token, only_ours=only_ours))

    async def _asked(self, token: str, *, only_ours: bool) -> Caller:
        audiences = ([constants.ARCHIVE_AUDIENCE],) if only_ours else ([constants.ARCHIVE_AUDIENCE], None)
        for audience in audiences:
            spec = {"token": token} | ({"audiences": audience} if audience else {})
            found = policy.caller(await self._review(TOKENS, spec))
            if found is not None:
                return found
        raise RefusedError(
            refusal.unauthenticated(
                f"the API server rejected the token for audience {constants.ARCHIVE_AUDIENCE}: it expired, its pod was "
                "deleted, or it is for another audience"
            )
        )

    async def _read(self, namespace: str, name: str) -> Standing:
        try:
            return policy.standing(await self._api.get(TASKRUNS, namespace, name))
        except errors.NotFound:
            raise RefusedError(
                refusal.forbidden(f"there is no TaskRun {name} in namespace {namespace} that it could be of")
            ) from None
        except ValueError as error:
            raise RefusedError(refusal.invalid(str(error))) from error
        except errors.ApiError as error:
            raise RefusedError(_unavailable(error)) from error

    async def _review(self, kind: Resource, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        for pause in PAUSES:
            try:
                return (await self._api.create(kind, None, body)).get("status") or {}
            except errors.Unavailable as error:
                await self._api.clock.sleep(error.retry_after or pause)
            except errors.ApiError as error:
                raise RefusedError(_unavailable(error)) from error
        try:
            return (await self._api.create(kind, None, body)).get("status") or {}
        except errors.ApiError as error:
            raise RefusedError(_unavailable(error)) from error


def _unavailable(error: errors.ApiError) -> refusal.Refusal:
    return refusal.unavailable("ApiUnavailable", f"the API server cannot be asked who this is: {error.message[:200]}")
