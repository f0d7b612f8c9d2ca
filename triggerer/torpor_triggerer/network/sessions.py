"""HTTP sessions by namespace and service account: each has its own connections, closed soon after its last use.

At most `limit` sessions keep connections; the one idle longest is closed for a new one. While all are in use, further
owners get a session that closes each connection after one request: none waits and nothing is shared.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Protocol, Self

import aiohttp

SESSIONS = 256
IDLE_SECONDS = 60.0


class Owner(NamedTuple):
    """The owner of connections."""

    namespace: str
    account: str


class Connect(Protocol):
    """Creates a session."""

    def __call__(self, *, reuse: bool) -> aiohttp.ClientSession:
        """Create a session; without `reuse` each of its connections serves one request."""


@dataclass(slots=True, kw_only=True)
class _Held:
    session: aiohttp.ClientSession
    users: int = 0
    closing: asyncio.TimerHandle | None = None


class Sessions:
    """All sessions of this process."""

    def __init__(self, connect: Connect, *, limit: int = SESSIONS, idle_seconds: float = IDLE_SECONDS) -> None:
        self._connect = connect
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._held: dict[Owner, _Held] = {}
        self._single_use: aiohttp.ClientSession | None = None
        self._closing: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return len(self._held)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for owner in list(self._held):
            self._drop(owner)
        if self._single_use is not None:
            self._close(self._single_use.close())
        if self._closing:
            await asyncio.wait(set(self._closing))

    @asynccontextmanager
    async def hold(self, owner: Owner) -> AsyncIterator[aiohttp.ClientSession]:
        """Hold the session of an owner inside the block."""
        held = self._find(owner)
        if held is None:
            yield self._for_single_use()
            return
        held.users += 1
        try:
            yield held.session
        finally:
            held.users -= 1
            if not held.users:
                self._close_later(owner, held)

    def _find(self, owner: Owner) -> _Held | None:
        """The owner's session, created if there is room."""
        held = self._held.pop(owner, None)
        if held is None:
            if len(self._held) >= self._limit and not self._drop_idle():
                return None
            held = _Held(session=Context().run(self._connect, reuse=True))  # in an empty context: it outlives the wait
        if held.closing is not None:
            held.closing.cancel()
            held.closing = None
        self._held[owner] = held  # as the last: the first idle one is the least recently used
        return held

    def _for_single_use(self) -> aiohttp.ClientSession:
        if self._single_use is None:
            self._single_use = self._connect(reuse=False)
        return self._single_use

    def _drop_idle(self) -> bool:
        idle = next((owner for owner, held in self._held.items() if not held.users), None)
        if idle is not None:
            self._drop(idle)
        return idle is not None

    def _close_later(self, owner: Owner, held: _Held) -> None:
        if self._held.get(owner) is held:
            held.closing = asyncio.get_running_loop().call_later(self._idle_seconds, self._drop, owner)

    def _drop(self, owner: Owner) -> None:
        held = self._held.pop(owner)
        if held.closing is not None:
            held.closing.cancel()
        self._close(held.session.close())

    def _close(self, closing: Awaitable[None]) -> None:
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
