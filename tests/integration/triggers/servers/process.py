"""A server as a process of the test's own, on a free port of loopback: started, stopped, killed and started again."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

NOBODY = 65534
USER = NOBODY if os.geteuid() == 0 else None
GROUPS: list[int] | None = None if USER is None else []
"""Of the processes: PostgreSQL does not run as root. None is the user who runs the tests."""
# For a machine that is busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0


@dataclass(kw_only=True)
class ServerProcess:
    """`answers` says whether it takes requests."""

    argv: Sequence[str]
    port: int
    folder: Path
    environment: Mapping[str, str]
    answers: Callable[[int], bool]
    _running: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    def start(self) -> None:
        """Until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                self.argv,
                stdout=log,
                stderr=log,
                env=self.environment,
                cwd=self.folder,
                user=USER,
                group=USER,
                extra_groups=GROUPS,
            )
        end = time.monotonic() + _TIMEOUT
        while not self.answers(self.port):
            output = (self.folder / "log").read_text(errors="replace")
            assert self._running.poll() is None, f"{self.argv[0]} ended:\n{output}"
            assert time.monotonic() < end, f"{self.argv[0]} does not answer:\n{output}"
            time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a machine that goes."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of the process's own, outside what only root can reach."""
    folder = Path(tempfile.mkdtemp(prefix="torpor-server-"))
    own(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def own(path: Path) -> None:
    """Give it to whom the processes run as."""
    if USER is not None:
        os.chown(path, USER, USER)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
