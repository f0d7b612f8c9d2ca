"""The minimum rate of an upload: a slow client would occupy a slot that others wait for.

Only time spent waiting for the client counts, not the database's. Pure.
"""

from torpor_archive import errors
from torpor_archive.errors import RefusedError

RATE = 4096
"""Bytes per second."""
WINDOW_SECONDS = 60.0


class TransferRate:
    """Measures one upload: each window of waiting for the client must bring enough bytes."""

    def __init__(self, rate: int, window: float = WINDOW_SECONDS) -> None:
        self._rate = rate
        self._window = window
        self._waited = 0.0
        self._size = 0

    @property
    def remaining_seconds(self) -> float:
        """How long to wait for the client in this window."""
        return max(0.0, self._window - self._waited)

    def record(self, waited: float, size: int) -> None:
        """Record data received after a wait in seconds. Raises RefusedError (408) if the window had too little."""
        self._waited += waited
        self._size += size
        if self._waited < self._window:
            return
        if self._size < self._rate * self._window:
            raise RefusedError(self.too_slow())
        self._waited, self._size = 0.0, 0

    def too_slow(self) -> errors.ErrorResponse:
        """Build the refusal of a slow upload."""
        return errors.too_slow(
            f"received {self._size} bytes of the body in {self._window:g} s; the minimum is "
            f"{self._rate} bytes per second"
        )
