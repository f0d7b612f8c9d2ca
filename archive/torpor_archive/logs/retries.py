"""When logs that could not be read are read again. Pure: times are those of a monotonic clock."""

from dataclasses import dataclass

from torpor_wire.retry import Backoff

BACKOFF = Backoff(first=10.0, cap=900.0, jitter=0.0)
"""The operator keeps an ended pod for 30 seconds, so the first retry comes in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retry:
    failures: int
    due: float


class LogRetries:
    """The logs to read again, by uid of the pod."""

    def __init__(self) -> None:
        self._retries: dict[str, _Retry] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._retries

    def failed(self, uid: str, now: float) -> None:
        """Schedule the next try."""
        failures = self._retries[uid].failures + 1 if uid in self._retries else 1
        self._retries[uid] = _Retry(failures=failures, due=now + BACKOFF.delay(failures))

    def forget(self, uid: str) -> None:
        """Schedule no more tries of a log."""
        self._retries.pop(uid, None)

    def take_due(self, now: float) -> list[str]:
        """Return the logs to read now. Each is due again later, unless it is forgotten or fails meanwhile."""
        due = [uid for uid, retry in self._retries.items() if retry.due <= now]
        for uid in due:
            failures = self._retries[uid].failures
            self._retries[uid] = _Retry(failures=failures, due=now + BACKOFF.delay(failures))
        return due
