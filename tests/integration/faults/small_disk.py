"""A file system of a few megabytes in memory, which can be filled. Only root can mount it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PIECE = bytes(64 * 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """`folder` is where it is mounted."""

    folder: Path

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no room on it."""
        ballast = self.folder / "ballast"
        try:
            _fill(ballast)
            yield
        finally:
            ballast.unlink()


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[SmallDisk | None]:
    """Mount a disk on a new folder. None without root."""
    folder.mkdir()
    if os.geteuid():
        yield None
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder=folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(path: Path) -> None:
    """Write until the disk refuses a byte."""
    size = len(_PIECE)
    with path.open("wb", buffering=0) as file:
        while size:
            try:
                file.write(_PIECE[:size])
            except OSError:
                size //= 2
