"""Tracks on which object the event loop works: in the journal, by CPU time, and by a warning after a long step.

A step is what runs between two points at which the event loop may switch tasks. The tracker measures the CPU time of
the loop's thread, so that a busy machine does not cause a report.
"""

import logging
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_journal import WorkJournal, encode

T = TypeVar("T")
LONG_STEP = 0.2
"""Seconds of CPU after which a step is reported. No step of an object should take more than 0.05 s."""

_LOG = logging.getLogger(__name__)


class WorkTracker:
    """One for an event loop. `cpu_time` returns the CPU seconds of the loop's thread; the default measures nothing.

    `on_step` takes the namespace of the object and the CPU seconds of each step, and `on_long_step` the object and the
    seconds of a long one. Neither may raise.
    """

    def __init__(
        self,
        journal: WorkJournal | None = None,
        *,
        cpu_time: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._journal = journal or WorkJournal()
        self._cpu_time = cpu_time
        self.on_step: Callable[[str, float], None] = lambda _namespace, _seconds: None
        self.on_long_step: Callable[[ObjectRef, float], None] = lambda _ref, _seconds: None

    def forget(self) -> None:
        """Clear the record of the former process, which is stored elsewhere by now."""
        self._journal.replace(b"")

    @contextmanager
    def step(self, ref: ObjectRef) -> Iterator[None]:
        """Record the object during a block that does not await. SystemExit keeps the record: the process ends."""
        former, began = self._begin(encode(ref))
        try:
            yield
        except SystemExit:
            raise
        except BaseException:
            self._end(ref, former, began)
            raise
        self._end(ref, former, began)

    async def track(self, ref: ObjectRef, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, and record the object during each of its steps. Tasks that it starts are not tracked."""
        return await self._steps(ref, work)

    @types.coroutine
    def _steps(self, ref: ObjectRef, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        resume: Callable[[Any], Any] = work.send
        argument: Any = None
        record = encode(ref)
        while True:
            former, began = self._begin(record)
            try:
                awaited = resume(argument)
            except SystemExit:
                raise
            except StopIteration as end:
                self._end(ref, former, began)
                return end.value  # type: ignore[no-any-return]  # what the coroutine returned
            except BaseException:
                self._end(ref, former, began)
                raise
            self._end(ref, former, began)
            try:
                argument = yield awaited
                resume = work.send
            except BaseException as error:  # noqa: BLE001 - passed on, as `await` does
                argument = error
                resume = work.throw

    def _begin(self, record: bytes) -> tuple[bytes, float]:
        return self._journal.replace(record), self._cpu_time()

    def _end(self, ref: ObjectRef, former: bytes, began: float) -> None:
        self._journal.replace(former)
        seconds = self._cpu_time() - began
        self.on_step(ref.namespace, seconds)
        if seconds >= LONG_STEP:
            _LOG.warning("%s blocked the event loop for %.1f s of CPU", ref, seconds)
            self.on_long_step(ref, seconds)
