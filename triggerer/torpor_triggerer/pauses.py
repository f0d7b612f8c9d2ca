"""When the garbage collector held everything up: whoever's code was under way then has not blocked anything."""

import gc
import time
from typing import Any

LONG = 0.05
"""Seconds; a shorter one keeps nobody."""


class Pauses:
    """Collections of this process that took long, noted from `begin` to `end`."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._ended = float("-inf")

    def begin(self) -> None:
        """Note them from now on."""
        gc.callbacks.append(self.note)

    def end(self) -> None:
        """Note no more."""
        gc.callbacks.remove(self.note)

    def note(self, phase: str, _info: dict[str, Any]) -> None:
        """As the collector calls it, in whatever thread it runs."""
        now = time.monotonic()
        if phase == "start":
            self._began = now
        elif self._began is not None:
            if now - self._began >= LONG:
                self._ended = now
            self._began = None

    def since(self, moment: float) -> bool:
        """Whether one goes on, or has ended, since a moment (monotonic)."""
        began = self._began
        goes_on = began is not None and time.monotonic() - began >= LONG
        return goes_on or self._ended >= moment
