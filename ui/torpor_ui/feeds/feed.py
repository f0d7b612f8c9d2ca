"""A feed: live state that the viewers of one identity share, for as long as somebody looks at it.

It begins with its first viewer, and ends soon after its last one, or when the API server refuses a request of its
identity. Viewers are woken at most twice a second. Each then takes the newest state, so a slow one skips states.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Never

from torpor_kubernetes.client import errors as api_errors

from torpor_ui import errors
from torpor_ui.errors import ProblemError

INTERVAL = 0.5
"""Seconds between two wake-ups of the viewers."""
LINGER_SECONDS = 20.0
"""A feed outlives its last viewer by this: a page that is loaded again finds it."""
READY_SECONDS = 60.0
"""A viewer waits so long for the first state. The feed goes on for the next one."""
WATCH_SECONDS = 60
"""Length of a watch: the API server checks the identity and its rights again when the next one begins."""
FATAL = (api_errors.Forbidden, api_errors.NotFound)

log = logging.getLogger(__name__)


class Feed:
    """The base of feeds: viewers, wake-ups and the end. Subclasses return in `_work` what reads the cluster."""

    def __init__(self) -> None:
        self.problem: ProblemError | None = None
        """Why the feed has ended."""
        self.changed = asyncio.Event()
        """To be set when the state has changed."""
        self._viewers: list[asyncio.Event] = []
        self._task: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def ended(self) -> bool:
        """Whether the feed has ended."""
        return self.problem is not None

    @property
    def outdated(self) -> bool:
        """Whether a new viewer needs another feed."""
        return False

    @property
    def started(self) -> bool:
        """Whether it has read the cluster."""
        return self._task is not None

    @property
    def viewers(self) -> int:
        """How many look at it."""
        return len(self._viewers)

    def _work(self) -> list[Coroutine[Any, Any, Never]]:
        """Return what keeps the state up to date."""
        raise NotImplementedError

    async def ready(self) -> None:
        """Wait until the state is complete for the first time. Raises ProblemError if it never will be."""
        raise NotImplementedError

    async def before_wake(self) -> None:
        """Compute what all viewers share, before they are woken."""

    def start(self) -> None:
        """Begin to read the cluster, for a viewer who comes soon."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._end_when_idle()

    @asynccontextmanager
    async def viewed(self, woken: asyncio.Event) -> AsyncGenerator[None, None]:
        """Keep the feed for the block, in which `woken` is set after each change, and at the end of the feed.

        The block begins when the state is complete. Raises ProblemError if the feed ends before that.
        """
        self._viewers.append(woken)
        self.start()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        try:
            await self._until_ready()
            yield
        finally:
            self._viewers.remove(woken)
            self._end_when_idle()

    def close(self, problem: ProblemError | None = None) -> None:
        """End the feed and its reads."""
        if self.problem is None:
            self.problem = problem or errors.unavailable("the server has ended this view", "Reload.")
        if self._idle is not None:
            self._idle.cancel()
        if self._task is not None:
            self._task.cancel()
        self._notify()

    def _end_when_idle(self) -> None:
        if not self._viewers and not self.ended:
            self._idle = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.close)

    async def _until_ready(self) -> None:
        ready = asyncio.create_task(self.ready())
        try:
            works = [ready, *([self._task] if self._task else [])]
            ended, _ = await asyncio.wait(works, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if self.problem is not None:
                raise self.problem
            if not ended:
                raise errors.unavailable(f"the API server has sent no complete list within {READY_SECONDS:g} s")
            await ready
        finally:
            ready.cancel()

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for work in self._work():
                    group.create_task(work)
                group.create_task(self._wake())
        except* api_errors.ApiError as raised:
            self._end(errors.from_api(_first(raised)))
        except* ProblemError as raised:
            self._end(_first(raised))
        except* Exception:
            log.exception("a feed has ended")
            self._end(errors.unavailable("internal error; see the log of the page's server"))
        finally:
            self._end(errors.unavailable("the server has ended this view", "Reload."))

    def _end(self, problem: ProblemError) -> None:
        self.problem = self.problem or problem
        self._notify()

    async def _wake(self) -> Never:
        while True:
            await self.changed.wait()
            self.changed.clear()
            await self.before_wake()
            self._notify()
            await asyncio.sleep(INTERVAL)

    def _notify(self) -> None:
        for woken in self._viewers:
            woken.set()


async def wait_for_change(woken: asyncio.Event, feeds: Sequence[Feed], seconds: float) -> bool:
    """Wait for a change of one of these feeds; False after so many seconds. Raises ProblemError if one has ended."""
    changed = True
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        changed = False
    woken.clear()
    for feed in feeds:
        if feed.problem is not None:
            raise feed.problem
    return changed


def _first(group: BaseExceptionGroup[Any]) -> Any:
    error: Any = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
