"""Clients that waits share: one for each server and protocol, as long as a wait uses it.

The last user does not wait until the client is closed, since that would delay its event. Closing has a time limit; an
error is only logged.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVar

from torpor.triggers.support.polling import BusyError
from torpor_kubernetes.fairness.namespace_shares import Shares

T = TypeVar("T")

CLOSE_SECONDS = 5.0
CLIENTS = 512
"""Each takes some hundred kilobytes."""
BUSY_SECONDS = 30.0

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _PooledClient:
    opened: Any
    owner: str | None
    users: int = 0


class ClientPool:
    """All shared clients of this process, by key. A key may contain secrets and is never shown."""

    def __init__(self, limit: int = CLIENTS) -> None:
        self._slots = Shares(limit)
        self._clients: dict[Hashable, _PooledClient] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._clients)

    @asynccontextmanager
    async def acquire(
        self,
        key: Hashable,
        connect: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        owner: str | None = None,
    ) -> AsyncIterator[T]:
        """Hold the client of a key inside the block; create it if necessary, within the owner's share.

        Raises BusyError if the owner has used its share.
        """
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = self._open(connect, owner)
        client.users += 1
        try:
            yield client.opened
        finally:
            client.users -= 1
            if client.users == 0:
                del self._clients[key]
                if client.owner is not None:
                    self._slots.release(client.owner)
                self._close(close(client.opened))

    def _open(self, connect: Callable[[], Any], owner: str | None) -> _PooledClient:
        if owner is not None and not self._slots.try_acquire(owner):
            message = f"its namespace waits on {self._slots.held(owner)} servers already, which is its share"
            raise BusyError(message, BUSY_SECONDS)
        try:
            # In an empty context: it outlives its first user, and its lines must not be attributed to that wait.
            return _PooledClient(opened=Context().run(connect), owner=owner)
        except BaseException:
            if owner is not None:
                self._slots.release(owner)
            raise

    async def closed(self) -> None:
        """Return when all unused clients are closed."""
        if self._closing:
            await asyncio.wait(self._closing)

    def _close(self, closing: Awaitable[None]) -> None:
        task = asyncio.create_task(_within(closing))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class PinnedClients:
    """The same clients for one user that needs them repeatedly: each stays open until the stack is closed."""

    def __init__(self, clients: ClientPool, until: AsyncExitStack) -> None:
        self._clients = clients
        self._until = until
        self._held: dict[Hashable, Any] = {}

    @asynccontextmanager
    async def acquire(
        self,
        key: Hashable,
        connect: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        owner: str | None = None,
    ) -> AsyncIterator[T]:
        """Hold the client of a key. Raises BusyError as ClientPool does."""
        if key not in self._held:
            self._held[key] = await self._until.enter_async_context(self._clients.acquire(key, connect, close, owner))
        yield self._held[key]


async def _within(closing: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await closing
    except Exception as error:  # noqa: BLE001 - a library's; nothing follows from it
        log.info("Failed to close a shared client: %s", type(error).__name__)
