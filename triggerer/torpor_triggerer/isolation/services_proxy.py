"""The services of triggers that run in a thread: each call runs in the main loop and returns to the thread.

Shared clients are the exception: a client belongs to the loop that created it, so each thread has its own.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from torpor.triggers.services import EndedWorkflows, HttpResponse, Request, TaskRunRef
from torpor.triggers.support.metering import ByteMeter
from torpor_wire.canonical import Json

from torpor_triggerer.batching.batches import PollStats
from torpor_triggerer.batching.source import PollContext
from torpor_triggerer.isolation.thread_loop import ThreadLoop
from torpor_triggerer.network.connections import MeteredSocket
from torpor_triggerer.network.proxy import ProxySession
from torpor_triggerer.services.client_pool import PinnedClients
from torpor_triggerer.services.trigger_services import TriggerServices

T = TypeVar("T")


class ServicesProxy:
    """Implements `torpor.triggers.services.Services` by the services of the main loop; `pinned` as there."""

    def __init__(self, services: TriggerServices, thread_loop: ThreadLoop, pinned: PinnedClients | None = None) -> None:
        self.services = services
        self._thread_loop = thread_loop
        self._pinned = pinned

    @property
    def namespace(self) -> str:
        """The namespace of the TaskRun."""
        return self.services.namespace

    @property
    def taskrun(self) -> TaskRunRef:
        """The TaskRun that waits."""
        return self.services.taskrun

    def make(self, class_name: str, kwargs: Mapping[str, Any]) -> Any:
        """Return a trigger of a registered class; it runs in this thread unless it has one of its own."""
        trigger = self.services.make(class_name, kwargs)
        if hasattr(trigger, "bind"):
            trigger.bind(self)
        return trigger

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self.services.now()

    async def sleep(self, seconds: float) -> None:
        """Sleep in this thread: a wake-up from another thread would be late."""
        await self.services.sleep(seconds)

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""
        return self.services.jitter()

    def check(self, expression: str, roots: frozenset[str]) -> None:
        """Raise ValueError for an expression that cannot work."""
        self.services.check(expression, roots)

    async def evaluate(self, expression: str, variables: Mapping[str, Json]) -> Json:
        """Return the value of an expression."""
        return await self._thread_loop.in_main_loop(_of(self.services.evaluate(expression, variables)))

    async def request(self, request: Request) -> HttpResponse:
        """Send one HTTP request."""
        return await self._thread_loop.in_main_loop(_of(self.services.request(request)))

    async def reach(self, host: str, port: int, *, seconds: float) -> str:
        """Open a TCP connection and close it."""
        return await self._thread_loop.in_main_loop(_of(self.services.reach(host, port, seconds=seconds)))

    async def connect(self, host: str, port: int, *, seconds: float, meter: ByteMeter) -> MeteredSocket:
        """Open a TCP connection for use in this thread."""
        connecting = self.services.connect(host, port, seconds=seconds, meter=meter)
        return await self._borrowed(connecting, lambda connected: connected.close())

    async def proxy(self, meter: ByteMeter) -> "RemoteProxy":
        """Return a proxy for a client that opens connections by itself."""
        session = await self._borrowed(self.services.proxy(meter), lambda session: self._at_home_later(session.close()))
        return RemoteProxy(session, self._thread_loop)

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Held while a response is read and evaluated."""
        held = self.services.answering()
        leave = partial(held.__aexit__, None, None, None)
        await self._borrowed(held.__aenter__(), lambda _: self._at_home_later(leave()))
        try:
            yield
        finally:
            await asyncio.shield(self._thread_loop.in_main_loop(_of(leave())))

    async def _borrowed(self, work: Awaitable[T], give_back: Callable[[T], object]) -> T:
        """Acquire something in the main loop. If the caller is cancelled meanwhile, it is released."""
        borrowing = asyncio.run_coroutine_threadsafe(_of(work), self._thread_loop.main_loop)

        def unwanted(done: "Future[T]") -> None:
            if not done.cancelled() and done.exception() is None:
                give_back(done.result())

        try:
            return await asyncio.shield(asyncio.wrap_future(borrowing))
        except asyncio.CancelledError:
            borrowing.add_done_callback(unwanted)
            raise

    def _at_home_later(self, work: Awaitable[object]) -> None:
        asyncio.run_coroutine_threadsafe(_of(work), self._thread_loop.main_loop)

    @property
    def answer_bytes(self) -> int:
        """The size limit of a response."""
        return self.services.answer_bytes

    @property
    def longest_request(self) -> float:
        """The time limit of a request, in seconds."""
        return self.services.longest_request

    async def versions(
        self, api_version: str, kind: str, name: str, *, managed: bool = False
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield an object of the namespace, and each of its changes on request."""
        versions = self.services.versions(api_version, kind, name, managed=managed)
        async with aclosing(self._from_main_loop(versions)) as generator:
            async for version in generator:
                yield version

    async def ends(self, labels: Mapping[str, str], *, again: float) -> AsyncGenerator[EndedWorkflows, None]:
        """Yield the Workflows of the namespace with these labels that have ended."""
        async with aclosing(self._from_main_loop(self.services.ends(labels, again=again))) as generator:
            async for ended in generator:
                yield ended

    async def _from_main_loop(self, generator: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield what a generator of the main loop yields, on request."""
        lock = asyncio.Lock()
        try:
            while (item := await self._thread_loop.in_main_loop(_next(generator, lock))) is not None:
                yield item
        finally:
            await self._thread_loop.in_main_loop(_close(generator, lock))

    async def polled(self, trigger: Any) -> Any:
        """Return the event of a trigger whose class has `poll_many`, polled in this thread."""
        clock, jitter = self.services.backends.api.clock, self.services.backends.api.jitter
        context = PollContext((self.services.namespace, self.services.account), clock, jitter, self._poll_services)
        return await self._thread_loop.pollers.event(trigger, self.services.poll_stats, context)

    def _poll_services(self, until: AsyncExitStack) -> "ServicesProxy":
        return ServicesProxy(
            replace(self.services, poll_stats=PollStats()),
            self._thread_loop,
            PinnedClients(self._thread_loop.clients, until),
        )

    def hide(self, texts: Collection[str]) -> None:
        """Redact texts in what the current trigger logs and returns."""
        self.services.hide(texts)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what `work` returns or raises in a worker thread."""
        return await self._thread_loop.in_main_loop(_of(self.services.in_thread(work)))

    def shared(
        self, key: Hashable, connect: Callable[[], T], close: Callable[[T], Awaitable[None]]
    ) -> AbstractAsyncContextManager[T]:
        """Return this thread's client of this namespace and service account for a key."""
        clients = self._pinned or self._thread_loop.clients
        return clients.acquire((self.services.owner, key), connect, close, self.services.namespace)

    @property
    def folders(self) -> Sequence[str]:
        """The folders that waits of this namespace may read."""
        return self.services.folders

    @property
    def lends_identity(self) -> bool:
        """Whether waits may use the cloud identity of this pod."""
        return self.services.lends_identity


class RemoteProxy:
    """A session of the proxy, which runs in the main loop."""

    def __init__(self, session: ProxySession, thread_loop: ThreadLoop) -> None:
        self.url = session.url
        self._session = session
        self._thread_loop = thread_loop

    @property
    def denied(self) -> str:
        """Why an address was."""
        return self._session.denied

    @denied.setter
    def denied(self, why: str) -> None:
        self._session.denied = why

    @property
    def failed(self) -> str:
        """Why an address was not connected to."""
        return self._session.failed

    @failed.setter
    def failed(self, why: str) -> None:
        self._session.failed = why

    async def close(self) -> None:
        """Close the session."""
        await self._thread_loop.in_main_loop(_of(self._session.close()))


async def _of(work: Awaitable[T]) -> T:
    return await work


async def _next(generator: AsyncGenerator[T, None], lock: asyncio.Lock) -> T | None:
    async with lock:
        return await anext(generator, None)


async def _close(generator: AsyncGenerator[Any, None], lock: asyncio.Lock) -> None:
    """Waits for a pending `anext`, even if its caller was cancelled: closing a running generator is an error."""
    async with lock:
        await generator.aclose()
