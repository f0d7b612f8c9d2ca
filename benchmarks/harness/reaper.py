"""Ends what a bench started when the bench itself has ended, however it ended: SIGKILL included.

`guard` puts a random mark into the environment, which every process inherits that is started from then on, and starts
the reaper, which does not have it. The reaper's input is a pipe that ends with the process that holds the other end.
Then it kills the processes that have the mark, and removes the folder. It must not find processes by name.

PR_SET_PDEATHSIG would need no reaper. But it follows the thread that started the child, not the process, and the
children of a child do not inherit it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "TORPOR_ENDS_WITH"
_LOOK = 0.05
_QUIET_LOOKS = 3


@contextmanager
def guard(folder: Path) -> Iterator[None]:
    """Whatever is started meanwhile ends with this process, and the folder is removed."""
    mark = uuid.uuid4().hex
    # In its own session, since Ctrl-C reaches all processes of the bench's.
    reaper = subprocess.Popen(
        (sys.executable, "-P", __file__, mark, folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = mark
    try:
        yield
    finally:
        _restore(before)
        reaper.communicate()


def main(mark: str, folder: str) -> None:
    """Wait for the end of the input, then kill and remove."""
    sys.stdin.buffer.read()
    entry, quiet = f"{_VARIABLE}={mark}".encode(), 0
    # A process that is being started shows its environment a moment after its creator was killed.
    while quiet < _QUIET_LOOKS:
        quiet = 0 if _kill_all(entry) else quiet + 1
        time.sleep(_LOOK)
    shutil.rmtree(folder, ignore_errors=True)


def _kill_all(entry: bytes) -> bool:
    """Kill the processes whose environment has this entry. Whether there were any."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return bool([pid for pid in pids if _kill(pid, entry)])


def _kill(pid: int, entry: bytes) -> bool:
    try:
        held = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Until it is closed, the descriptor means the process whose environment is read, though its pid be reused.
        if entry not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(held)
    return True


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = before


if __name__ == "__main__":
    main(*sys.argv[1:])
