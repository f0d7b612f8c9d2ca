"""Decides where triggers run: in the main loop, or in a thread of their class after the class has blocked that loop.

A block cannot be interrupted, only prevented next time: a class moves at its third block within an hour, or at its
first that is long enough to fail the pod's probes. It stays there until the process ends. Its runs restart there, as in
another replica.
"""

import asyncio
import logging
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torpor_kubernetes.health_server import LATE
from torpor_kubernetes.timing import Clock

from torpor_triggerer.isolation.thread_loop import ThreadLoop
from torpor_triggerer.isolation.trigger_proxy import TriggerProxy
from torpor_triggerer.isolation.watchdog import BlockListener, LoopBlock, LoopMonitor, Watchdog
from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Ended
from torpor_triggerer.usercode import attribution, invoke
from torpor_triggerer.usercode.attribution import Attribution, StackSample
from torpor_triggerer.usercode.invoke import NotYet, Step
from torpor_triggerer.usercode.registry import Registry

BLOCKS = 3
WITHIN = 3600.0
LONG = LATE
REPORT_EVERY = 60.0
SWITCH_SECONDS = 0.0005
"""The interval for which one thread's Python code may keep another waiting:

a tenth of the default. A moved class may compute without end, and the main loop would wait as long after each system
call.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A block of the main loop: its class, its duration in seconds, and whether the class moves."""

    class_name: str
    subject: object
    place: str
    seconds: float
    moved: bool


class Placement:
    """Implements `invoke.TriggerHost`.

    `blocked` counts blocks by class; `thread_loops`: threads by class.

    `on_block` gets the class of each block when it is detected, in the watchdog's thread. `on_unblock` gets each block
    of the main loop after it has ended, in that loop.
    """

    def __init__(
        self,
        clock: Clock,
        registry: Registry,
        *,
        seconds: float,
        on_block: Callable[[str], None],
        on_unblock: Callable[[Blocked], None],
    ) -> None:
        self.blocked: Counter[str] = Counter()
        self.thread_loops: dict[str, ThreadLoop] = {}
        self._registry = registry
        self._seconds = seconds
        self._clock = clock
        self._on_begin = on_block
        self._on_blocked = on_unblock
        self._blocks: dict[str, deque[float]] = {}
        self._watchdog = Watchdog()
        self._pulses: dict[str, LoopMonitor] = {}
        self._reported_at: dict[str, float] = {}
        self._main_loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def watching(self, classes: Collection[str] = ()) -> Iterator[None]:
        """Watch the running loop; run these classes in threads from the start. Simulations do not call it."""
        interval = sys.getswitchinterval()
        self._main_loop = asyncio.get_running_loop()
        self._main_loop.set_task_factory(attribution.factory)
        self._watchdog.watch(LoopMonitor(self._main_loop, threading.get_ident(), self._listener))
        for class_name in classes:
            if class_name in self._registry.movable:
                self._move(class_name, self._main_loop)
            else:
                log.warning("--apart: no class is registered as %r", class_name)
        self._watchdog.start()
        try:
            yield
        finally:
            sys.setswitchinterval(interval)
            self._watchdog.stop()
            for thread_loop in self.thread_loops.values():
                thread_loop.stop()

    async def run(self, class_name: str, trigger: Any, step: Step = invoke.first_event) -> Ended | NotYet:
        """Return what a step of a trigger returns. Raises CancelledError if the current task was cancelled."""
        try:
            if isinstance(trigger, TriggerProxy):
                return await trigger.outcome()
            return await attribution.running(Attribution(class_name=class_name, subject=trigger), step(trigger))
        except (Exception, asyncio.CancelledError) as error:
            if invoke.is_own_cancellation(error):
                raise
            log.exception("The trigger broke its runner")
            return outcome.from_exception(error)

    async def tell(self, class_name: str, trigger: Any, method: str) -> None:
        """Call `cleanup` or `on_kill`, if the class implements it; within the time limit, and never raises."""
        if invoke.implements(trigger, method):
            telling = invoke.tell(self._clock, trigger, method, seconds=self._seconds)
            await attribution.running(Attribution(class_name=class_name, subject=trigger), telling)

    @property
    def _listener(self) -> BlockListener:
        return BlockListener(began=self._begin, ended=self._end)

    def _begin(self, block: LoopBlock) -> None:
        """Runs in the watchdog's thread: the loop may never continue, so the block is logged at once."""
        class_name = self._class_name(block.sight)
        self.blocked[class_name] += 1
        self._on_begin(class_name)
        if not block.thread_class:
            log.warning("trigger %s blocks the event loop, at %s", class_name, self._place(block.sight))
        elif block.started - self._reported_at.get(class_name, float("-inf")) > REPORT_EVERY:
            self._reported_at[class_name] = block.started
            log.info("trigger %s blocks its own thread, at %s", class_name, self._place(block.sight))

    def _end(self, block: LoopBlock) -> None:
        """Runs in the watchdog's thread: the loop may be about to make thousands of the class's triggers."""
        if block.thread_class or self._main_loop is None:
            return
        class_name = self._class_name(block.sight)
        moved = self._is_too_much(class_name, block) and class_name in self._registry.movable
        if moved and class_name not in self.thread_loops:
            self._move(class_name, self._main_loop)
            log.warning("trigger %s runs in a thread of its own from now on", class_name)
        blocked = Blocked(
            class_name=class_name,
            subject=block.sight.mark.subject,
            place=self._place(block.sight),
            seconds=block.seconds,
            moved=moved,
        )
        self._main_loop.call_soon_threadsafe(self._on_blocked, blocked)

    def _is_too_much(self, class_name: str, block: LoopBlock) -> bool:
        blocks = self._blocks.setdefault(class_name, deque(maxlen=BLOCKS))
        blocks.append(block.started)
        often = len(blocks) == BLOCKS and block.started - blocks[0] <= WITHIN
        return often or block.seconds >= LONG or class_name in self.thread_loops

    def _move(self, class_name: str, main_loop: asyncio.AbstractEventLoop) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        thread_loop = self.thread_loops[class_name] = ThreadLoop(
            class_name, main_loop, self._watch, self._blocked_reason
        )
        self._registry.replace_class(
            class_name, lambda trigger_class: lambda **kwargs: TriggerProxy(thread_loop, trigger_class, kwargs)
        )

    def _watch(self, thread_loop: ThreadLoop) -> None:
        """Runs in the thread to watch."""
        pulse = LoopMonitor(thread_loop.loop, threading.get_ident(), self._listener, thread_loop.class_name)
        self._pulses[thread_loop.class_name] = pulse
        self._watchdog.watch(pulse)

    def _blocked_reason(self, class_name: str) -> str:
        pulse = self._pulses.get(class_name)
        block = pulse.block if pulse else None
        if block is None:
            return ""
        return f"its thread has been blocked for {block.seconds:.0f} s, at {self._place(block.sight)}"

    def _class_name(self, sight: StackSample) -> str:
        """The innermost registered class on the stack, else that of the running trigger."""
        subject = sight.mark.subject
        subjects = subject[:1] if isinstance(subject, list | tuple) else (subject,)
        for trigger_class in (*sight.types, *map(type, subjects)):
            name = self._registry.name_of(trigger_class, sight.mark.class_name)
            if name:
                return name
        return sight.mark.class_name or type(sight.mark.subject).__qualname__

    def _place(self, sight: StackSample) -> str:
        """The innermost line of the class's own module, and where the block is."""
        if not sight.places:
            return "its construction"
        files = self._registry.file_of(self._class_name(sight))
        own = next((place for place in sight.places if place.file == files), sight.places[-1])
        inner = sight.places[0]
        return str(own) if own == inner else f"{own}, in {inner}"
