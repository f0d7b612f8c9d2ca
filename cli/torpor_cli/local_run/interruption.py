"""What interrupts a local run: signals, and output that nothing reads any more.

The tasks of a run are process groups of their own, so they would go on without it.
"""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torpor_cli import output

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """The first interruption cancels a run as `torpor cancel` does. A second one ends it at once."""

    def __init__(self, playing: "asyncio.Future[Any]") -> None:
        self._playing = playing
        self._interrupted = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals of the process inside the block, but for those that its caller ignores, such as nohup."""
        loop = asyncio.get_running_loop()
        handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in handled:
            loop.add_signal_handler(number, self._receive, number)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def lose_output(self) -> None:
        """Cancel the run, because its output cannot be written. This counts as the first interruption."""
        self._cancel("the output cannot be written: the run is cancelled; press Ctrl-C to end it at once")

    def _receive(self, number: signal.Signals) -> None:
        if not self._interrupted:
            self._cancel("interrupted: the run is cancelled; press Ctrl-C again to end it at once")
        elif number is not signal.SIGHUP:  # the kernel and the shell both send it when a terminal is closed
            self._playing.cancel()

    def _cancel(self, message: str) -> None:
        if not self._interrupted and not self._playing.done():
            self._interrupted = True
            self._playing.cancel()
            note(message)


def note(message: str) -> None:
    """Print a remark on standard error, unless its terminal was closed."""
    try:
        output.note(message)
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            output.discard(stream)
