"""Writes a stored file or folder to the disk of this machine: for local runs, and for the command `torpor files`.

The content comes from another task: nothing is written outside the target, and its size is limited.
"""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from torpor_client.errors import UserError

UNPACKED_MAX = 10 * 1024**3
ENTRIES_MAX = 100_000
_PIECE = 256 * 1024


def write(pieces: Iterator[bytes], described: Mapping[str, Any], target: Path) -> None:
    """Write the content, which `described` tells the kind and the digest of, to a new path.

    Raises UserError, also for another content than the digest says, OSError, EOFError and tarfile.TarError.
    """
    stream = _PieceStream(pieces)
    base, _, packed = str(described["kind"]).partition("+")
    content = cast("IO[bytes]", io.BufferedReader(stream, _PIECE))
    if packed:
        content = cast("IO[bytes]", gzip.GzipFile(fileobj=content))
    if base == "folder":
        _unpack(content, target)
    else:
        _copy(content, target)
    if stream.digest() != described["digest"]:
        raise UserError("the archive has another content than the TaskRun says")


def _copy(content: IO[bytes], target: Path) -> None:
    left = UNPACKED_MAX
    with target.open("xb") as file:
        while piece := content.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise UserError(f"the file has more than {UNPACKED_MAX} bytes, the limit")
            file.write(piece)


def _unpack(content: IO[bytes], target: Path) -> None:
    target.mkdir()
    left = UNPACKED_MAX
    with tarfile.open(fileobj=content, mode="r|") as tar:
        for number, member in enumerate(tar):
            left -= member.size
            if left < 0 or number >= ENTRIES_MAX:
                raise UserError(f"the folder has more than {UNPACKED_MAX} bytes or {ENTRIES_MAX} entries, the limits")
            tar.extract(member, target, filter="data")
    while piece := content.read(_PIECE):  # compressed, it can be terabytes
        left -= len(piece)
        if left < 0:
            raise UserError(f"the folder is followed by more than {UNPACKED_MAX} bytes, the limit")


class _PieceStream(io.RawIOBase):
    """The pieces of a body as a file, with their digest."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            self._held = next(self._pieces, b"")
            if not self._held:
                return 0
            self._digest.update(self._held)
        count = min(len(buffer), len(self._held))
        buffer[:count], self._held = self._held[:count], self._held[count:]
        return count

    def digest(self) -> str:
        """Read the rest, and return the SHA-256 of the whole in hexadecimal."""
        for piece in self._pieces:
            self._digest.update(piece)
        return self._digest.hexdigest()
