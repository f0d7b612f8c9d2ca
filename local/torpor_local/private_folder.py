"""The folder of the sockets of a local run, which only the user can open.

It is in the folder for temporary files, because the path of a socket has at most 103 bytes. A run that was killed
leaves its folder behind. The next run of the user removes it: its lock is free then.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "torpor-"
_LOCK = "run.lock"
_SOCKET_MAX = 100
_SHORT = Path("/tmp")  # noqa: S108 - `mkdtemp` creates the folder with the mode 0700


@contextmanager
def create() -> Iterator[Path]:
    """Create a folder with the mode 0700 and a path that is short enough for a socket, and remove it at the end."""
    with create_locked() as (path, _):
        yield path


@contextmanager
def create_locked() -> Iterator[tuple[Path, int]]:
    """Create such a folder; the second value is the descriptor of its lock.

    A process that uses the folder and can outlive this one inherits the descriptor, so that the folder stays as long.
    """
    for parent in {Path(tempfile.gettempdir()), _SHORT}:
        remove_abandoned(parent)
    path = _new()
    try:
        with (path / "new").open("xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (path / "new").rename(path / _LOCK)  # so no other run sees the file before it is locked
            yield path, lock.fileno()
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove the folders of this user whose run has ended without that."""
    for path in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError):  # of another user, in use, or removed meanwhile
            _remove(path)


def _remove(path: Path) -> None:
    folder = path.parent.lstat()
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid():
        return
    with path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path.parent)


def _new() -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if len(os.fsencode(folder)) < _SOCKET_MAX:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_SHORT))
