"""What one wait asks the secrets backend of its pool. A backend blocks, and all waits share an event loop.

Code that asks in a thread, or by `await`, waits there. Code that asks on the event loop is stopped by an exception that
`except Exception` does not catch. A thread then gets the answer, and the code begins again and finds it.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from torpor.triggers.services import Services

from torpor_airflow.connections import secret_texts
from torpor_airflow.connections.user_backend import BackendFailedError, BackendQuery, UserBackend

QUERIES_MAX = 50
SECONDS_MAX = 30.0
"""For one answer. The thread of a backend that hangs goes on; each namespace has a share of the threads."""


class LookupOnLoopError(BaseException):
    """A query on the event loop, whose answer is not known yet."""

    def __init__(self, backend: UserBackend, query: BackendQuery) -> None:
        super().__init__(f"a query for {query} on the event loop")
        self.backend = backend
        self.query = query


@dataclass(slots=True, kw_only=True)
class PoolLookups:
    """The answers that a wait has got. It asks for each of them once, and again after a failure.

    A failure of a query on the loop stays until the trigger has run: each restart brings an answer or a failure.
    """

    services: Services | None = None
    answers: dict[BackendQuery, Any] = field(default_factory=dict, repr=False)
    failures: dict[BackendQuery, BackendFailedError] = field(default_factory=dict)
    """Of queries on the loop: the code gets them when it begins again."""

    def bind(self, services: Services) -> None:
        """Hide what the constructor of the trigger has got, and all later answers."""
        self.services = services
        for answer in self.answers.values():
            services.hide(secret_texts.collect_bounded(answer))

    def answer(self, backend: UserBackend, query: BackendQuery) -> Any:
        """Return an answer to code that does not await. Raises LookupOnLoopError on an event loop."""
        if query not in self.answers:
            if _is_on_loop():
                raise self.failures.get(query) or LookupOnLoopError(backend, query)
            self._check_count(backend, query)
            self._keep(backend, query, backend.ask(query))
        return self.answers[query]

    async def fetch(self, backend: UserBackend, query: BackendQuery) -> Any:
        """Return an answer, from a thread. Raises BackendFailedError, also if there is none in time."""
        if query not in self.answers:
            if self.services is None:
                raise RuntimeError("a trigger asks before it is bound")
            self._check_count(backend, query)
            try:
                async with asyncio.timeout(SECONDS_MAX):
                    answer = await self.services.in_thread(lambda: backend.ask(query))
            except TimeoutError:
                raise backend.failure(query, f"no answer within {SECONDS_MAX:.0f} s") from None
            self._keep(backend, query, answer)
        return self.answers[query]

    async def events(self, run: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """Yield the events of a trigger, which begins again after each query on the loop."""
        self.failures.clear()
        while True:
            try:
                async for event in run():
                    yield event
            except (LookupOnLoopError, BaseExceptionGroup) as error:
                await self._fetch_needed(error)
            else:
                return

    async def call(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work`, again after each query on the loop."""
        self.failures.clear()
        while True:
            try:
                await work()
            except (LookupOnLoopError, BaseExceptionGroup) as error:
                await self._fetch_needed(error)
            else:
                return

    async def _fetch_needed(self, error: BaseException) -> None:
        """Get the answer that code on the loop needed. Raises the error itself if it has another cause.

        Raises BackendFailedError if there have been too many: the code would catch it, and ask for further names.
        """
        needed = next(_queries(error), None)
        if needed is None:
            raise error
        self._check_count(needed.backend, needed.query)
        try:
            await self.fetch(needed.backend, needed.query)
        except BackendFailedError as failure:
            self.failures[needed.query] = failure

    def _check_count(self, backend: UserBackend, query: BackendQuery) -> None:
        if len(self.answers) + len(self.failures) >= QUERIES_MAX:
            raise backend.failure(query, f"a wait asks for at most {QUERIES_MAX} connections and variables")

    def _keep(self, backend: UserBackend, query: BackendQuery, answer: Any) -> None:
        try:
            texts = secret_texts.collect_bounded(answer)
            if self.services is not None:
                self.services.hide(texts)
        except ValueError as error:
            raise backend.failure(query, str(error)) from None
        self.answers[query] = answer


_current: ContextVar[PoolLookups | None] = ContextVar("torpor_airflow.pool_lookups", default=None)


FOREIGN_THREAD = (
    "a thread without the context of its trigger asks for it: start the thread by asyncio.to_thread, or call "
    "contextvars.copy_context().run in it"
)
_is_pool = threading.Event()


def mark_pool() -> None:
    """Note that this process runs triggers: from now on each query belongs to one of them."""
    _is_pool.set()


def is_pool() -> bool:
    """Return whether this process runs triggers. All threads see it, also those without a context."""
    return _is_pool.is_set()


def current() -> PoolLookups | None:
    """Return the lookups of the wait whose code runs, None in a pod."""
    return _current.get()


def activate(lookups: PoolLookups) -> None:
    """Use them for all code that the current task runs from now on."""
    _current.set(lookups)


@contextmanager
def active(lookups: PoolLookups) -> Iterator[None]:
    """Use them inside the block."""
    token = _current.set(lookups)
    try:
        yield
    finally:
        _current.reset(token)


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _queries(error: BaseException) -> Iterator[LookupOnLoopError]:
    """Yield the queries in an error, and in a group of errors."""
    match error:
        case LookupOnLoopError():
            yield error
        case BaseExceptionGroup():
            for each in error.exceptions:
                yield from _queries(each)
