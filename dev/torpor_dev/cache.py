"""The folder where everything made here is kept, by version, and the locks over it.

Two commands may run at once (a test session and a person), hence the locks. Must not delete anything itself.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torpor_dev import progress
from torpor_dev.errors import DevError

SOURCES = Path(__file__).resolve().parents[1]


def folder(*parts: str) -> Path:
    """A folder under the cache, made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base, "torpor", *parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DevError(f"the cache folder {path} cannot be made ({error.strerror}); set XDG_CACHE_HOME") from error
    return path


def fingerprint(files: Iterable[Path], *words: str) -> str:
    """Twelve hex digits that change when a file's name or content or a word does."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\0")
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a file's lock, waiting for another command that holds it; a holder that dies lets go."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"another command is at it; waiting for {path.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
