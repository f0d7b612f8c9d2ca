"""Which Python runs the tasks."""

import sys
from pathlib import Path

import pytest
from torpor_cli.authoring import interpreter
from torpor_cli.errors import UsageError


def python(folder: Path, script: str = "echo 3 12") -> str:
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_the_option_wins_over_the_active_environment(tmp_path: Path) -> None:
    chosen, active = python(tmp_path / "a"), python(tmp_path / "b")
    environment = {"VIRTUAL_ENV": str(tmp_path / "b")}
    assert interpreter.choose(chosen, environment) == chosen
    assert interpreter.choose(str(tmp_path / "a"), environment) == chosen
    assert interpreter.choose(None, environment) == active


def test_the_process_of_the_command_is_the_last_choice(tmp_path: Path) -> None:
    assert interpreter.choose(None, {}) == sys.executable
    assert interpreter.choose(None, {"VIRTUAL_ENV": str(tmp_path / "gone")}) == sys.executable


def test_a_program_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="--python no-such: there is no such program"):
        interpreter.choose("no-such", {})


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 3 8", "is Python 3.8; tasks need 3.11 or later: add --python"),
        ("echo 2 7", "is Python 2.7; tasks need 3.11 or later: add --python"),
        ("echo broken >&2; exit 1", "is not a usable Python: broken"),
        ("exit 7", "is not a usable Python: it ended with code 7"),
        ("true", "is not a usable Python: it ended with code 0"),
    ],
)
def test_an_interpreter_that_cannot_run_tasks_is_refused(tmp_path: Path, script: str, expected: str) -> None:
    program = python(tmp_path, script)
    with pytest.raises(UsageError) as raised:
        interpreter.choose(program, {})
    assert str(raised.value) == f"{program} {expected}"
