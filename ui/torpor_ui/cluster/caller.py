"""A caller: an identity that the API server confirmed, and its connections to the API server and the archive.

The server has no rights of its own. Every request carries the caller's credentials, so a check that is forgotten here
is a 403 of the API server, and never a breach.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.timing import Clock

from torpor_ui import errors
from torpor_ui.cluster.archive import ArchiveReader
from torpor_ui.cluster.transport import CallerTransport

SELF_REVIEWS = Resource(
    group="authentication.k8s.io", version="v1", plural="selfsubjectreviews", kind="SelfSubjectReview", namespaced=False
)
VERIFY_SECONDS = 60.0
"""After this time the API server is asked again whether it accepts the credentials."""
IDLE_SECONDS = 900.0
CALLERS_MAX = 500
LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A bearer token; None for the credentials of the user who started `torpor ui`."""

    token: str | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """A digest that tells identities apart. A renewed token is another identity."""
        return LOCAL if self.token is None else hashlib.sha256(self.token.encode()).hexdigest()


@dataclass(slots=True, kw_only=True, eq=False)
class Caller:
    """An identity. `key` separates its caches from those of all others."""

    key: str
    user: str
    groups: tuple[str, ...] = ()
    api: Api
    transport: CallerTransport
    archive: ArchiveReader
    streams: int = 0
    used: float = 0.0
    verified: float = 0.0


class Callers:
    """The callers of this process, by credentials. `on_drop` runs for one that is forgotten.

    `system` is the namespace of the installation whose archive they read.
    """

    def __init__(
        self,
        transport: CallerTransport,
        clock: Clock,
        *,
        system: str,
        on_drop: Callable[[Caller], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._system = system
        self._on_drop = on_drop
        self._monotonic = monotonic
        self._callers: dict[str, Caller] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._callers)

    async def get(self, credential: Credential) -> Caller:
        """Return the caller of these credentials. Raises ProblemError (401) if the API server does not accept them."""
        key, now = credential.key, self._monotonic()
        caller = self._callers.get(key)
        if caller is None or now - caller.verified >= VERIFY_SECONDS:
            async with self._verifying(key):
                caller = self._callers.get(key)
                if caller is None or now - caller.verified >= VERIFY_SECONDS:
                    caller = await self._verify(credential, caller)
        caller.used = now
        return caller

    def drop(self, caller: Caller) -> None:
        """Forget a caller whose credentials the API server rejects, and all that was read with them."""
        if self._callers.get(caller.key) is caller:
            del self._callers[caller.key]
            self._on_drop(caller)

    def expire(self) -> None:
        """Forget the callers that nobody has used for `IDLE_SECONDS`."""
        now = self._monotonic()
        for caller in list(self._callers.values()):
            if not caller.streams and now - caller.used >= IDLE_SECONDS:
                self.drop(caller)

    async def _verify(self, credential: Credential, known: Caller | None) -> Caller:
        caller = known or self._new(credential)
        try:
            user, groups = await _review(caller.api)
        except api_errors.Forbidden as error:
            if known is not None:
                self.drop(known)
            raise errors.not_logged_in("the API server does not accept your credentials") from error
        except api_errors.ApiError as error:
            raise errors.from_api(error) from error
        if known is not None and (known.user, known.groups) != (user, groups):
            self.drop(known)  # the same credentials are another user now, with other rights
            caller = self._new(credential)
        caller.user, caller.groups, caller.verified = user, groups, self._monotonic()
        self._callers[caller.key] = caller
        return caller

    def _new(self, credential: Credential) -> Caller:
        self.expire()
        if len(self._callers) >= CALLERS_MAX:
            raise errors.too_many(f"{CALLERS_MAX} people use this page now", "Try again later.")
        transport = self._transport
        if credential.token is not None:
            value = f"Bearer {credential.token}"

            async def authorization() -> str | None:
                return value

            transport = transport.as_caller(authorization)
        api = Api(transport, self._clock)
        return Caller(
            key=credential.key,
            user="",
            api=api,
            transport=transport,
            archive=ArchiveReader(api, transport, system=self._system),
            used=self._monotonic(),
        )

    @asynccontextmanager
    async def _verifying(self, key: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and self._locks.get(key) is lock:
                del self._locks[key]


async def _review(api: Api) -> tuple[str, tuple[str, ...]]:
    """Return the name and the groups of the user as the API server knows them."""
    body = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
    answer = await api.create(SELF_REVIEWS, None, body)
    info = (answer.get("status") or {}).get("userInfo") or {}
    return str(info.get("username") or ""), tuple(map(str, info.get("groups") or ()))
