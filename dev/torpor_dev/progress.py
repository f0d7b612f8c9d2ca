"""Prints one line per step to standard error, with the seconds since the command started.

Standard output is for the answer (a path, an image), which scripts read.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_started = time.monotonic()


def say(message: str) -> None:
    """Print one line with the seconds since the start."""
    print(f"[{time.monotonic() - _started:6.1f} s] {message}", file=sys.stderr, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print a step before it begins, and its duration if that is more than a second."""
    say(f"{title} ...")
    before = time.monotonic()
    yield
    if (took := time.monotonic() - before) > 1:
        say(f"{title}: {took:.1f} s")
