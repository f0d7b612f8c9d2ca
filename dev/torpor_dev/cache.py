"""The cache folder, in which everything is kept by version, and its locks.

The locks are for two commands at once, such as a test session and a person. Must not delete anything.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torpor_dev import console
from torpor_dev.console import DevError

SOURCES = Path(__file__).resolve().parents[1]


def folder(*parts: str) -> Path:
    """A folder in the cache, created if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base, "torpor", *parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DevError(f"the cache folder {path} cannot be created ({error.strerror}); set XDG_CACHE_HOME") from error
    return path


def fingerprint(files: Iterable[Path], *words: str) -> str:
    """Twelve hex digits that change with the name or content of a file and with a word."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\0")
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, and wait for a command that holds it. The lock ends with its process."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.say(f"waiting for another command that holds {path.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
