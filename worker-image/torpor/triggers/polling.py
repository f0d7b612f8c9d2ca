"""Looking again and again: what every trigger does that nobody tells when it has happened."""

from collections.abc import Awaitable, Callable
from typing import Any

from torpor.triggers.services import Services

INTERVAL = 5.0
INTERVAL_MIN = 0.1


class BusyError(OSError):
    """There is no answer now, and none is to be asked for before so many seconds have passed."""

    def __init__(self, words: str, retry_after: float) -> None:
        super().__init__(words)
        self.retry_after = retry_after


async def alone(trigger: Any) -> Any:
    """The event of a trigger whose class has `poll_many`, where nobody lends anything, as in Airflow's triggerer."""
    import asyncio  # noqa: PLC0415 - a task pod never gets here

    while True:
        try:
            (answer,) = await type(trigger).poll_many([trigger], None)
        except PermissionError:
            raise
        except OSError as error:
            answer, trigger.last_look = None, str(error)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        await asyncio.sleep(trigger.interval)


async def found(services: Services, look: Callable[[], Awaitable[Any]], interval: float) -> Any:
    """What `look` finds once that is not None; `interval` is in seconds.

    The interval is varied by a tenth, so that many waits do not look at one moment.
    """
    while (what := await look()) is None:
        await services.sleep(interval * (0.9 + 0.2 * services.jitter()))
    return what
