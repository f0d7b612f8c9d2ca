"""The least rate at which a body must come: who sends less holds a place that others wait for.

Only time spent waiting for the client counts, never that of the database. Pure.
"""

from torpor_archive import errors
from torpor_archive.errors import RefusedError

RATE = 4096
"""Bytes a second."""
WINDOW_SECONDS = 60.0


class Pace:
    """One body: in each window of waiting for the client, so many bytes come."""

    def __init__(self, rate: int, window: float = WINDOW_SECONDS) -> None:
        self._rate = rate
        self._window = window
        self._waited = 0.0
        self._size = 0

    @property
    def left(self) -> float:
        """For how many seconds the client may still be waited for in this window."""
        return max(0.0, self._window - self._waited)

    def note(self, waited: float, size: int) -> None:
        """So many bytes came after so many seconds. Raises RefusedError (408) where they are too few."""
        self._waited += waited
        self._size += size
        if self._waited < self._window:
            return
        if self._size < self._rate * self._window:
            raise RefusedError(self.too_slow())
        self._waited, self._size = 0.0, 0

    def too_slow(self) -> errors.Refusal:
        """What to say of a window with too little in it."""
        return errors.too_slow(
            f"{self._size} bytes of the body came in {self._window:g} s; at least {self._rate} bytes a second must come"
        )
