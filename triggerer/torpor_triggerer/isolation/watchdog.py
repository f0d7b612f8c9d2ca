"""Detects event loops that are late, and the code that blocks them, from a thread of its own.

Twenty times a second it pings each loop, unless the loop is idle. A loop that does not answer is sampled: a busy one is
in another step each time and is not reported; one that stays in a step is blocked by the owner of that step.

The thread does not depend on the loops, so it waits for no loop and reports from its own thread.
"""

import asyncio
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import StackSample

LONG = 0.05
"""Seconds; a shorter collection counts as no pause."""


class GcPauses:
    """Records long garbage collections, from `begin` to `end`."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._ended = float("-inf")

    def begin(self) -> None:
        """Start recording."""
        gc.callbacks.append(self.note)

    def end(self) -> None:
        """Stop recording."""
        gc.callbacks.remove(self.note)

    def note(self, phase: str, _info: dict[str, Any]) -> None:
        """The callback of the collector, in any thread."""
        now = time.monotonic()
        if phase == "start":
            self._began = now
        elif self._began is not None:
            if now - self._began >= LONG:
                self._ended = now
            self._began = None

    def since(self, moment: float) -> bool:
        """Whether one is in progress, or has ended since a moment (monotonic)."""
        began = self._began
        goes_on = began is not None and time.monotonic() - began >= LONG
        return goes_on or self._ended >= moment


TICK = 0.05
LATE = 0.2
BURNT = LATE / 2
_RUN_ONCE = asyncio.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]  # noqa: SLF001 - the loop itself

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBlock:
    """A block of a loop: its start (monotonic) and its seconds.

    `thread_class` is the class that owns the loop; empty for the main loop.
    """

    sight: StackSample
    started: float
    seconds: float
    thread_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockListener:
    """Called in the watchdog's thread when a block begins and when it has ended."""

    began: Callable[[LoopBlock], None]
    ended: Callable[[LoopBlock], None]


class LoopMonitor:
    """Monitors one loop, which must run in the thread `thread`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, thread: int, listener: BlockListener, thread_class: str = ""
    ) -> None:
        self.block: LoopBlock | None = None
        self._loop = loop
        self._thread = thread
        self._listener = listener
        self._thread_class = thread_class
        self._cpu_clock = time.pthread_getcpuclockid(thread)
        self._cpu = time.clock_gettime(self._cpu_clock)
        self.checked_at = self._asked_at = time.monotonic()
        self._answered_at: float | None = self._asked_at
        self._step: FrameType | None = None
        self._began: float | None = None

    def check(self, now: float, *, paused: bool = False) -> None:
        """Check the loop. Raises RuntimeError if the loop is closed, OSError if its thread has ended.

        `paused`: a garbage collection held it up since the last check, so the check says nothing.
        """
        before = self.checked_at
        slept, burnt = self._since(now)
        if paused:
            self._asked_at, self._began = now, None
        elif slept >= LATE and burnt:
            self._after_the_fact(before, now)
        elif self._answered_at is not None:
            self._end(self._answered_at)
            if not _is_idle(self._frame()):
                self._ask(now)
        elif slept >= LATE:
            self._asked_at, self._began = now, None  # the whole process was paused, including this thread
        else:
            self._judge(now, at_once=False)

    def _after_the_fact(self, before: float, now: float) -> None:
        """Code that never releases the interpreter is sampled right after it did: it has not got far since."""
        if self._answered_at is not None:
            self._end(self._answered_at)
            self._ask(before)
        self._judge(now, at_once=True)

    def _judge(self, now: float, *, at_once: bool) -> None:
        """Sample the loop; `at_once`: one sample is enough."""
        sight = attribution.read(self._frame())
        step = sight.step if sight else None
        if self._began is None or step is not self._step:
            self._end(now)
            self._began = self._asked_at if self._began is None else now
            self._step = step
            if not at_once:
                return
        lasts = now - self._began
        if sight is not None and lasts >= LATE:
            began = self.block is None
            self.block = LoopBlock(sight=sight, started=self._began, seconds=lasts, thread_class=self._thread_class)
            if began:
                self._listener.began(self.block)

    def _end(self, at: float) -> None:
        if self.block is not None:
            ended = replace(self.block, seconds=at - self.block.started)
            self.block = None
            self._listener.ended(ended)

    def _ask(self, now: float) -> None:
        self._asked_at, self._answered_at = now, None
        self._step = self._began = None
        self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._answered_at = time.monotonic()

    def _frame(self) -> FrameType | None:
        return sys._current_frames().get(self._thread)  # noqa: SLF001 - the one way there is

    def _since(self, now: float) -> tuple[float, bool]:
        """The seconds since the last check, and whether the loop's thread used the CPU for most of them.

        Python code releases the interpreter each 5 ms, so code that did not has held it.
        """
        slept, self.checked_at = now - self.checked_at, now
        cpu = time.clock_gettime(self._cpu_clock)
        burnt, self._cpu = cpu - self._cpu >= BURNT, cpu
        return slept, burnt


def _is_idle(frame: FrameType | None) -> bool:
    """Whether a loop waits for work; checking costs a third of a ping."""
    return frame is not None and frame.f_back is not None and frame.f_back.f_code is _RUN_ONCE


class Watchdog:
    """Monitors loops; one for a process."""

    def __init__(self) -> None:
        self._pulses: list[LoopMonitor] = []
        self._pauses = GcPauses()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start."""
        self._pauses.begin()
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._stopped = True
        self._thread.join()
        self._pauses.end()

    def watch(self, pulse: LoopMonitor) -> None:
        """Add a loop."""
        self._pulses.append(pulse)

    def _run(self) -> None:
        while not self._stopped:
            time.sleep(TICK)
            for pulse in tuple(self._pulses):
                self._look(pulse)

    def _look(self, pulse: LoopMonitor) -> None:
        try:
            began = time.monotonic()
            pulse.check(began, paused=self._pauses.since(pulse.checked_at))
            if time.monotonic() - began >= LATE:  # it was kept from its work in the midst of it
                pulse.check(time.monotonic(), paused=self._pauses.since(began))
        except (RuntimeError, OSError):
            self._pulses.remove(pulse)
            log.debug("An event loop is closed, or its thread has ended")
        except Exception:
            log.exception("Failed to check an event loop")
