"""Processes that outlive the command that starts them. They are recorded, so that only they are ever stopped.

A pid may be reused; pid and start time identify a process. Must not find processes by name.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_STATE, _START_TIME = 0, 19  # fields of /proc/PID/stat after the name in parentheses


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A started process; `started` is the kernel's start time in clock ticks since boot."""

    pid: int
    started: int
    program: str


def start(name: str, argv: Sequence[str | Path], *, folder: Path, env: Mapping[str, str] | None = None) -> Daemon:
    """Start a process in its own session, with its output in NAME.log and its record in NAME.pid."""
    log = str(folder / f"{name}.log")
    args = [str(arg) for arg in argv]
    # Not Popen, which warns when it is collected before its child ends.
    pid = os.posix_spawnp(
        args[0],
        args,
        dict(os.environ if env is None else env),
        setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    started = Daemon(pid=pid, started=_state(pid)[1], program=args[0])
    _record(folder, name).write_text(json.dumps(asdict(started)))
    # The kernel shows the new command line a moment after the spawn returns.
    _await(lambda: alive(started) or not Path(f"/proc/{pid}").exists(), limit=1)
    return started


def find(name: str, *, folder: Path) -> Daemon | None:
    """The recorded process, if it still runs and is the one that was started."""
    try:
        recorded = Daemon(**json.loads(_record(folder, name).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return recorded if alive(recorded) else None


def alive(daemon: Daemon) -> bool:
    """Whether exactly this process runs: same start time, same command line, no zombie."""
    with contextlib.suppress(ChildProcessError):  # a child of an earlier command cannot be reaped here
        os.waitpid(daemon.pid, os.WNOHANG)
    try:
        command = Path(f"/proc/{daemon.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        state, started = _state(daemon.pid)
    except (OSError, ValueError):
        return False
    return state != "Z" and started == daemon.started and daemon.program in command


def stop(name: str, *, folder: Path, timeout: float = 10) -> None:
    """Stop the recorded process, by SIGKILL after `timeout` seconds; do nothing if it has ended."""
    daemon = find(name, folder=folder)
    if daemon is not None:
        _end(daemon, signal.SIGTERM, timeout)
        _end(daemon, signal.SIGKILL, timeout)
    _record(folder, name).unlink(missing_ok=True)


def tail(name: str, *, folder: Path, lines: int = 15) -> str:
    """The last lines of the process's output, indented for a message."""
    try:
        written = (folder / f"{name}.log").read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"  {line}" for line in written.splitlines()[-lines:])


def _end(daemon: Daemon, sign: signal.Signals, timeout: float) -> None:
    if alive(daemon):
        os.kill(daemon.pid, sign)
    _await(lambda: not alive(daemon), limit=timeout)


def _await(condition: Callable[[], bool], *, limit: float) -> None:
    deadline = time.monotonic() + limit
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


def _state(pid: int) -> tuple[str, int]:
    """The state letter and start time of the process; a zombie has both."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[_STATE], int(fields[_START_TIME])


def _record(folder: Path, name: str) -> Path:
    return folder / f"{name}.pid"
