"""The files of one pod."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from torpor_local.pods import status

_WRITABLE = 0o666
"""A container may run as another user; a kubelet creates the termination log with this mode, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFiles:
    """The output of a pod, its termination message, and the folder of its source."""

    log: Path
    message: Path
    source: Path

    def create(self) -> None:
        """Create the file for the termination message. Raises OSError."""
        self.message.touch()
        self.message.chmod(_WRITABLE)

    def termination_message(self, code: int) -> str:
        """Return the termination message of a process that ended with this code. Raises OSError."""
        with self.message.open("rb") as file:
            written = file.read(status.MESSAGE_MAX)
        return status.message(written, tail(self.log, status.LOG_TAIL), code)

    def remove(self) -> None:
        """Remove what is of no use after the end of the process: the log stays."""
        self.message.unlink(missing_ok=True)
        shutil.rmtree(self.source, ignore_errors=True)


def tail(path: Path, size: int) -> bytes:
    """Return the last bytes of a file, which may be larger than the memory. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read(size)
