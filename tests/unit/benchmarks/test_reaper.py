"""What a guarded process started ends with it, whatever ended it; nothing else does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from torpor_dev import daemon

from benchmarks import reaper

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
_ROOT = Path(__file__).resolve().parents[3]
_LIMIT = 120.0
_PROGRAM = """
import json, signal, subprocess, sys
from pathlib import Path
from torpor_dev import daemon
from benchmarks import reaper

folder = Path(sys.argv[1])
with reaper.guard(folder):
    one = daemon.start("sleeper", ["sleep", "600"], folder=folder)
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    print(json.dumps([one.pid, shell.pid, int(shell.stdout.readline())]), flush=True)
    signal.pause()
"""


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_a_guarded_process_started_ends_with_it(
    sign: signal.Signals, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, folder], cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as guarded:
        assert guarded.stdout is not None
        pids = json.loads(guarded.stdout.readline())
        assert all(map(runs, pids))
        guarded.send_signal(sign)
    deadline = time.monotonic() + _LIMIT
    while (any(map(runs, pids)) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in pids if runs(pid)] == []
    assert not folder.exists()
    assert bystander.poll() is None


def test_a_guard_that_ends_leaves_the_environment_as_it_was(tmp_path: Path) -> None:
    before = dict(os.environ)
    with reaper.guard(tmp_path / "state"):
        assert os.environ != before
    assert dict(os.environ) == before


def test_a_daemon_without_a_guard_outlives_its_starter(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from benchmarks import reaper; from torpor_dev import daemon\n"
    program += "with reaper.guard(Path(sys.argv[1]) / 'state'): pass\n"
    program += "daemon.start('sleeper', ['sleep', '600'], folder=Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, tmp_path], cwd=_ROOT, check=True)
    try:
        assert daemon.find("sleeper", folder=tmp_path) is not None
    finally:
        daemon.stop("sleeper", folder=tmp_path)
