"""Something that several test processes use at once: the first user sets it up, the last one takes it down."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
from torpor_dev import cache


class Users:
    """The number of users, in a file that all processes of a test run share. Entering and leaving are exclusive."""

    def __init__(self, path: Path) -> None:
        self._lock = path.with_suffix(".lock")
        self._count = path.with_suffix(".users")

    @classmethod
    def of_run(cls, factory: pytest.TempPathFactory, name: str) -> Self:
        """The users in one test run, be it of one process or of several."""
        folder = factory.getbasetemp()
        return cls((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name)

    @contextmanager
    def joined(self) -> Iterator[bool]:
        """Whether this process is the only user, and therefore has to set up; the others wait until it has."""
        with cache.lock(self._lock):
            before = int(self._count.read_text()) if self._count.exists() else 0
            yield before == 0
            self._count.write_text(str(before + 1))

    @contextmanager
    def left(self) -> Iterator[bool]:
        """Whether this process was the last user, and therefore has to take down."""
        with cache.lock(self._lock):
            after = int(self._count.read_text()) - 1
            self._count.write_text(str(after))
            yield after == 0
