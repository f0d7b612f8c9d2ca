"""The CPU time that each namespace has lately used on the event loop. Pure.

What a namespace used counts half as much after each `HALF_LIFE` seconds, so that the past is soon forgotten.
"""

from collections.abc import Sequence

HALF_LIFE = 10.0
_FORGOTTEN = 0.001
_NAMESPACES_MAX = 4096


class CpuShares:
    """Seconds by namespace. Moments are of one monotonic clock."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}  # seconds, and the moment at which they held

    def charge(self, namespace: str, seconds: float, now: float) -> None:
        """Count what a namespace has used."""
        if seconds <= 0:
            return
        if namespace not in self._used and len(self._used) >= _NAMESPACES_MAX:
            self._used = {name: used for name, used in self._used.items() if self.used(name, now) >= _FORGOTTEN}
        self._used[namespace] = (self.used(namespace, now) + seconds, now)

    def used(self, namespace: str, now: float) -> float:
        """The seconds that count now."""
        seconds, since = self._used.get(namespace, (0.0, now))
        return float(seconds * 0.5 ** ((now - since) / HALF_LIFE))

    def least(self, namespaces: Sequence[str], now: float) -> str | None:
        """The namespace that used the least; the first of those that used equally little. None if there are none."""
        return min(namespaces, key=lambda name: self.used(name, now), default=None)
