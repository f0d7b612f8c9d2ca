"""The tasks of the reference run that the tests of the controller lack."""

from torpor import context

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
