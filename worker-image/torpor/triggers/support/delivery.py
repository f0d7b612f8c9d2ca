"""Delivers notifications: at the pace of their receiver, and again until the receiver accepts.

All deferrals of a namespace that notify one receiver share its pace in a triggerer. So a receiver that answers 429 for
an hour is called once for each pause, and not once for each message.
"""

from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

from torpor_wire.retry import Backoff

from torpor.triggers.support import polling
from torpor.triggers.support.metering import AddressDeniedError

if TYPE_CHECKING:
    from torpor.triggers.base import BaseTrigger
    from torpor.triggers.services import Services

T = TypeVar("T")
INTERVAL = 1.0
"""Seconds between two messages to one receiver: the limit of Slack and of Teams."""
PAUSE_MAX = 300.0
"""The longest pause after failures for which the receiver names no time."""


class MessageRefusedError(Exception):
    """The receiver rejected a message, and a retry would not help."""


class ReceiverUnavailableError(OSError):
    """The receiver does not accept messages now; `retry_after` is the time in seconds that it asked for, or 0."""

    def __init__(self, words: str, retry_after: float = 0.0) -> None:
        super().__init__(words)
        self.retry_after = retry_after


class ReceiverPace:
    """When the next message to one receiver may be sent, in seconds since the epoch."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._backoff = Backoff(interval, PAUSE_MAX)
        self._next = 0.0
        self._closed_until = 0.0
        self._failures = 0

    def reserve(self, now: float) -> float:
        """Return how many seconds to wait for the next turn, which no other message gets."""
        turn = max(now, self._next, self._closed_until)
        self._next = turn + self._interval
        return turn - now

    def is_closed(self, now: float) -> bool:
        """Return whether the receiver is left alone after a failure."""
        return now < self._closed_until

    def accept(self) -> None:
        """Note that the receiver accepted a message."""
        self._failures = 0

    def fail(self, now: float, retry_after: float, jitter: float) -> float:
        """Note that the receiver is unavailable, and return the seconds for which it is left alone.

        `jitter` is a number from 0 to 1.
        """
        self._failures += 1
        pause = max(retry_after * (1.0 + 0.1 * jitter), self._backoff.delay(self._failures, jitter))
        self._closed_until = max(self._closed_until, now + pause)
        self._next = self._closed_until
        return pause


async def deliver(trigger: "BaseTrigger", receiver: Hashable, send: Callable[[], Awaitable[T]]) -> T:
    """Call `send` until it returns, and return its value.

    `send` raises OSError if the receiver is unavailable, MessageRefusedError or AddressDeniedError if it never accepts
    the message. `receiver` may contain secrets.
    """
    services = trigger.services
    key = ("notification", services.namespace, receiver)
    while True:
        try:
            async with services.shared(key, ReceiverPace, _close) as pace:
                return await _deliver(trigger, pace, send)
        except polling.BusyError as error:
            trigger.last_look = str(error)
            await services.sleep(error.retry_after)


async def _deliver(trigger: "BaseTrigger", pace: ReceiverPace, send: Callable[[], Awaitable[T]]) -> T:
    services, attempts = trigger.services, 0
    while True:
        await _turn(services, pace)
        attempts += 1
        try:
            answer = await send()
        except AddressDeniedError:
            raise
        except OSError as error:
            pause = pace.fail(services.now(), getattr(error, "retry_after", 0.0), services.jitter())
            trigger.last_look = f"attempt {attempts}: {error}; next attempt in {pause:.0f} s"
            continue
        pace.accept()
        return answer


async def _turn(services: "Services", pace: ReceiverPace) -> None:
    """Return when it is the turn of this message. It waits again if the receiver has failed in the meantime."""
    while True:
        if (pause := pace.reserve(services.now())) > 0:
            await services.sleep(pause)
        if not pace.is_closed(services.now()):
            return


async def _close(pace: ReceiverPace) -> None:
    """Do nothing: there is no connection."""
