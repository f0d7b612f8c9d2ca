"""Shows which processes of pods live: each inherits a locked file, which also has its process id.

The lock is free as soon as the process has ended, however it and the run ended, so a later run can end the processes
that a killed one left behind and never signals another program that has got the process id since.
"""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class PodLock:
    """A locked file. `descriptor` is inherited by the process."""

    descriptor: int

    @classmethod
    @contextmanager
    def create(cls, folder: Path, uid: str) -> Iterator[Self]:
        """Create and lock the file of a pod, and remove it at the end."""
        path = folder / f"{uid}{_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield cls(descriptor)
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)

    def write(self, pid: int) -> None:
        """Store the process id."""
        os.pwrite(self.descriptor, str(pid).encode(), 0)


def kill_survivors(folder: Path) -> None:
    """End the processes that a killed run left behind."""
    for path in folder.glob(f"*{_SUFFIX}"):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pid = file.read().decode()
                if pid.isdigit():
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(int(pid), signal.SIGKILL)
        path.unlink(missing_ok=True)
