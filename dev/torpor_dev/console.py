"""What a person sees: one line for each step on standard error, and errors with their exit codes.

Standard output is for the answer (a path, an image), which scripts read. The errors have one base, so that the command
line reports all of them in one place.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class DevError(Exception):
    """A step failed. The message is for people, and names the remedy if it is known."""

    exit_code = 1


class CommandError(DevError):
    """A command failed or ran out of time; the message ends with its last lines."""


class NothingWorksError(DevError):
    """This machine cannot have a cluster. The message names what would change that."""

    exit_code = 2


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
