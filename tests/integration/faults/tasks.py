"""The tasks of the reference run that the tests of the controller lack."""

import time
from pathlib import Path
from typing import Any

from torpor import Deferral, context, defer
from torpor.triggers import Approval

from tests.integration.controller.tasks import note

_BYTES = 100_000


def fails_once() -> int:
    """Fail in the first attempt."""
    note()
    if context().attempt == 1:
        raise RuntimeError("on purpose, once")
    return context().attempt


def large() -> str:
    """Return more than fits on a TaskRun: the archive stores it."""
    note()
    return "x" * _BYTES


def size(value: str) -> int:
    note()
    return len(value)


def loops_until(path: str) -> str:
    """Run until there is a file."""
    note()
    while not Path(path).exists():
        time.sleep(0.1)
    return path


def asks() -> Deferral:
    """Wait for an approval."""
    note()
    return defer(Approval("Go on?"), then=answered)


def answered(event: Any) -> bool:
    note()
    return bool(event["approved"])
