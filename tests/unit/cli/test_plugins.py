"""`torpor NAME` runs the program `torpor-NAME`, unless NAME is a command."""

from pathlib import Path

import pytest
from torpor_cli import __main__ as command


def program(folder: Path, name: str, text: str) -> None:
    path = folder / f"torpor-{name}"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def test_a_program_on_the_path_is_a_command(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program(folder, "from-there", 'echo "$@"; exit 3')
    assert command.main(["from-there", "--image", "x:1", "-h", "dags/etl.py"]) == 3
    assert capfd.readouterr().out == "--image x:1 -h dags/etl.py\n"


@pytest.mark.attack
def test_a_program_cannot_replace_a_command(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program(folder, "lint", "echo replaced")
    command.main(["lint", "--help"])
    assert "replaced" not in capfd.readouterr().out


@pytest.mark.attack
@pytest.mark.parametrize("name", ["../torpor-x", "x/y", "X", ""])
def test_a_name_with_a_path_is_no_plugin(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program(folder, "x", "echo replaced")
    assert command.main([name]) == 2
    assert "there is no command" in capsys.readouterr().err


def test_a_program_that_a_signal_ends_has_the_exit_code_of_a_shell(folder: Path) -> None:
    program(folder, "killed", "kill -TERM $$")
    assert command.main(["killed"]) == 143
