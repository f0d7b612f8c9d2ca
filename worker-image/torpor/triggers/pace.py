"""How long to leave an HTTP server in peace before it is asked again.

As long as it is well, for the interval; in trouble, longer each time; and never shorter than it asks for itself
(Retry-After). Always varied by a tenth, so that many waits do not ask at one moment. Pure.
"""

from torpor.triggers.services import Answer

RETRY_AFTER_MAX = 3600.0
_TOO_MANY, _UNAVAILABLE, _ERROR = 429, 503, 500
_GROWTH_MAX = 12.0
_PAUSE_MAX = 60.0


class Pace:
    """The pauses of one wait. `most` limits them in seconds.

    It is a minute, and no more than twelve times the interval, where none is given: who asked for short ones is not to
    hear of the end a minute late.
    """

    def __init__(self, interval: float, *, most: float | None = None) -> None:
        self._interval = interval
        self._most = max(interval, min(_PAUSE_MAX, _GROWTH_MAX * interval) if most is None else most)
        self._failures = 0
        self._asked = 0.0

    def note(self, answer: Answer | None, now: float) -> None:
        """What was answered, None for no answer."""
        self._failures = self._failures + 1 if answer is None or in_trouble(answer) else 0
        self._asked = 0.0 if answer is None else retry_after(answer, now)

    def pause(self, jitter: float) -> float:
        """Seconds until it is asked again; `jitter` is a number from 0 to 1."""
        grown = self._interval * 2.0 ** min(max(self._failures - 1, 0), 16)
        return max(min(self._most, grown) * (0.9 + 0.2 * jitter), self._asked * (1.0 + 0.1 * jitter))


def in_trouble(answer: Answer) -> bool:
    """Whether a server answers so when it cannot answer now."""
    return answer.status == _TOO_MANY or answer.status >= _ERROR


def retry_after(answer: Answer, now: float) -> float:
    """For how many seconds a server asks to be left in peace (RFC 9110, 10.2.3), an hour at most; 0 if it does not."""
    asked = answer.headers.get("retry-after", "").strip()
    if answer.status not in {_TOO_MANY, _UNAVAILABLE} or not asked:
        return 0.0
    seconds = float(asked) if asked.isascii() and asked.isdecimal() else _until(asked, now)
    return min(RETRY_AFTER_MAX, max(0.0, seconds))


def _until(moment: str, now: float) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - a task pod never gets here

    try:
        return parsedate_to_datetime(moment).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0
