"""Commands that fail show their last words; processes that outlive us are ended only if they are still ours."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torpor_dev import command, daemon
from torpor_dev.console import CommandError


def test_a_failing_command_shows_its_last_lines() -> None:
    with pytest.raises(CommandError, match=r"exited with 3; its last lines:\n(.*\n)*  line 20$") as caught:
        command.run("sh", "-c", "seq -f 'line %g' 20 >&2; exit 3", limit=10)
    assert "line 5\n" not in str(caught.value)


def test_a_command_that_takes_too_long_is_ended() -> None:
    with pytest.raises(CommandError, match="did not end in 0 s"):
        command.run("sleep", "10", limit=0.1)


def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(CommandError, match="cannot run no-such-program"):
        command.run("no-such-program", limit=10)


def test_a_pipe_fails_with_either_side() -> None:
    assert command.pipe(["echo", "through"], ["cat"], limit=10) == "through\n"
    with pytest.raises(CommandError, match="false: exited with 1"):
        command.pipe(["false"], ["cat"], limit=10)
    with pytest.raises(CommandError, match="false: exited with 1"):
        command.pipe(["yes"], ["false"], limit=10)


def test_a_daemon_is_found_until_it_is_stopped(tmp_path: Path) -> None:
    started = daemon.start("sleeper", ["sleep", "60"], folder=tmp_path)
    assert daemon.find("sleeper", folder=tmp_path) == started
    daemon.stop("sleeper", folder=tmp_path, timeout=60)
    assert daemon.find("sleeper", folder=tmp_path) is None
    assert not daemon.alive(started)


def test_a_daemons_last_lines_are_kept(tmp_path: Path) -> None:
    started = daemon.start("speaker", ["sh", "-c", "echo first; echo last"], folder=tmp_path)
    while daemon.alive(started):
        time.sleep(0.01)
    assert daemon.tail("speaker", folder=tmp_path, lines=1) == "  last"


def test_a_pid_that_was_reused_is_not_ours(tmp_path: Path) -> None:
    ours = {"pid": os.getpid(), "started": 1, "program": "python"}
    (tmp_path / "other.pid").write_text(json.dumps(ours))
    assert daemon.find("other", folder=tmp_path) is None
    daemon.stop("other", folder=tmp_path, timeout=1)


def test_a_daemon_outlives_its_starter(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from torpor_dev import daemon\n"
    program += "daemon.start('sleeper', ['sleep', '600'], folder=Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    try:
        assert daemon.find("sleeper", folder=tmp_path) is not None
    finally:
        daemon.stop("sleeper", folder=tmp_path)
