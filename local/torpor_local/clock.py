"""The clock of a local run: the system's clock plus an offset, which grows when time is skipped."""

import asyncio
import time
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Sleeper:
    due: float
    woken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    timer: asyncio.TimerHandle | None = None

    def set_timer(self, seconds: float) -> None:
        """Wake after these seconds of real time, and not when it was to wake before."""
        self.cancel_timer()
        self.timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self.wake)

    def cancel_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class SkippableClock:
    """A `torpor_kubernetes.timing.Clock` that can skip time. `offset` is in seconds."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset
        self._sleepers: set[_Sleeper] = set()

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self.offset

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic() + self.offset

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time has passed or was skipped."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = _Sleeper(self.monotonic() + seconds)
        sleeper.set_timer(seconds)
        self._sleepers.add(sleeper)
        try:
            await sleeper.woken
        finally:
            sleeper.cancel_timer()
            self._sleepers.discard(sleeper)

    def skip_to(self, moment: float) -> None:
        """Set the time to a moment in the future (seconds since the epoch), and wake what was due before it.

        What is due later wakes that much earlier in real time, also if a rounding makes it due just after the moment.
        """
        self.offset += max(0.0, moment - self.now())
        now = self.monotonic()
        for sleeper in sorted(self._sleepers, key=lambda sleeper: sleeper.due):
            if sleeper.due <= now:
                sleeper.wake()
            else:
                sleeper.set_timer(sleeper.due - now)
