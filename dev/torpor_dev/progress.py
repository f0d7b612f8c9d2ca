"""One line per step, with the seconds since the command started, on standard error.

Standard output belongs to the answer (a path, an image), which scripts read.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_started = time.monotonic()


def say(message: str) -> None:
    """Print one line with the seconds elapsed since the start."""
    print(f"[{time.monotonic() - _started:6.1f} s] {message}", file=sys.stderr, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step before it is taken, and say how long it took when that was long enough to wonder."""
    say(f"{title} ...")
    before = time.monotonic()
    yield
    if (took := time.monotonic() - before) > 1:
        say(f"{title}: {took:.1f} s")
