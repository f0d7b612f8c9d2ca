"""Signals, a closed terminal and a closed pipe end `torpor run` together with the processes of its tasks."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.errors import ExitCode

_FILE = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: ingest}
spec:
  image: python:3.12-slim
  tasks:
  - name: sleep
    python: "ingest_tasks:sleep"
"""
_TASKS = """\
import os, signal, time

def sleep():
    open("stubborn", "a").close()
    if os.path.getsize("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open("pid.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename("pid.new", "pid")
    while not os.path.exists("go"):
        time.sleep(0.02)

def wait():
    while not os.path.exists("read"):
        time.sleep(0.02)
"""
_COMMAND = (sys.executable, "-m", "torpor_cli", "run", "ingest.yaml")
_IN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_LIMIT = 120.0
_CANCELLED = "interrupted: the run is cancelled; press Ctrl-C again to end it at once"


@pytest.fixture(autouse=True)
def _hang_up() -> Iterator[None]:
    """Let commands receive SIGHUP, which tests under `nohup` ignore, and what they start."""
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, former)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ingest.yaml").write_text(_FILE)
    (tmp_path / "ingest_tasks.py").write_text(_TASKS)
    return tmp_path


@contextmanager
def started(folder: Path, command: Sequence[str], **streams: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a command; end it and its task if the test fails, which would wait for them."""
    with subprocess.Popen(command, cwd=folder, text=True, **streams) as process:
        try:
            yield process
        except BaseException:
            (folder / "go").touch()
            process.kill()
            raise


def played(
    folder: Path, act: Callable[[str, "subprocess.Popen[str]"], None], command: Sequence[str] = _COMMAND
) -> tuple[int, str]:
    """Run a command; `act` gets each line that it prints. Return the exit code and the output."""
    with started(folder, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            act(line, process)
    return process.returncode, printed


def is_running(line: str) -> bool:
    return line.split()[1:3] == ["sleep", "Running"]


def begun(folder: Path) -> int:
    """Wait until the task has begun and return its process id."""
    end = time.monotonic() + _LIMIT
    while not (folder / "pid").exists():
        assert time.monotonic() < end, f"the task has not begun; the logs of its run: {logs(folder)}"
        time.sleep(0.02)
    return int((folder / "pid").read_text())


def logs(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob(".torpor/runs/**/*.log")}


def assert_ended(pid: int) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_run(folder: Path, number: signal.Signals) -> None:
    def act(line: str, process: "subprocess.Popen[str]") -> None:
        if is_running(line):
            begun(folder)
            process.send_signal(number)

    code, printed = played(folder, act)
    assert (code, _CANCELLED in printed) == (ExitCode.RUN_CANCELLED, True)
    assert printed.splitlines()[-2].split()[1:3] == ["ingest", "Cancelled"]
    assert_ended(begun(folder))


def test_two_interrupts_end_the_run_at_once(folder: Path) -> None:
    (folder / "stubborn").write_text("yes")

    def act(line: str, process: "subprocess.Popen[str]") -> None:
        if is_running(line):
            begun(folder)
        if is_running(line) or line.startswith("interrupted:"):
            process.send_signal(signal.SIGINT)

    code, printed = played(folder, act)
    assert code == ExitCode.INTERRUPTED
    assert printed.splitlines()[-1] == "ended at once; `torpor run --resume .torpor/runs/ingest` continues it"
    assert_ended(begun(folder))


def test_a_hangup_does_not_count_as_a_second_interrupt(folder: Path) -> None:
    def act(line: str, process: "subprocess.Popen[str]") -> None:
        if is_running(line):
            begun(folder)
        if is_running(line) or line.startswith("interrupted:"):
            process.send_signal(signal.SIGHUP)

    assert played(folder, act)[0] == ExitCode.RUN_CANCELLED


def test_a_hangup_that_the_caller_ignores_is_ignored(folder: Path) -> None:
    def act(line: str, process: "subprocess.Popen[str]") -> None:
        if is_running(line):
            process.send_signal(signal.SIGHUP)
            (folder / "go").touch()

    code, printed = played(folder, act, ("nohup", *_COMMAND))
    assert code == ExitCode.SUCCEEDED, printed


def test_a_run_whose_output_has_no_reader_is_cancelled(folder: Path) -> None:
    (folder / "ingest.yaml").write_text(_FILE + '  - name: wait\n    python: "ingest_tasks:wait"\n')
    command = (*_COMMAND, "--jobs", "2")
    with started(folder, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        pid = begun(folder)
        process.stdout.close()
        (folder / "read").touch()  # the other task ends, which is a line
        noted = process.stderr.read()
    assert process.returncode == ExitCode.RUN_CANCELLED
    assert "the output cannot be written: the run is cancelled; press Ctrl-C to end it at once\n" in noted
    assert_ended(pid)


def test_a_run_whose_terminal_is_closed_is_cancelled(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = (sys.executable, "-c", _IN_TERMINAL, *_COMMAND)
    with started(folder, command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        pid = begun(folder)
        os.close(ours)
        assert process.wait(_LIMIT) == ExitCode.RUN_CANCELLED
    assert_ended(pid)
