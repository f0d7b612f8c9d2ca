import io
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torpor_cli.__main__
from torpor_cli import output
from torpor_cli.__main__ import main
from torpor_cli.command_table import COMMANDS, CommandGroup

from tests.support.fake_cluster import FakeCluster, Run

_SLOW = {"pydantic", "aiohttp", "rich", "lightkube", "asyncio", "torpor_crds"}
_TICKS = {"zoneinfo", "tzdata"}


def imported_by(*arguments: str) -> set[str]:
    """The top packages that a command imports, in a process of its own. The command must succeed."""
    code = (
        "import sys; from torpor_cli.__main__ import main; code = main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=180
    )
    return {name.partition(".")[0] for name in ended.stderr.splitlines()}


def test_help_imports_neither_the_commands_nor_a_client() -> None:
    assert imported_by("--help") & (_SLOW | _TICKS | {"urllib3", "yaml"}) == set()


def test_the_help_of_a_group_imports_no_command_of_it() -> None:
    assert imported_by("schedule", "--help") & (_SLOW | _TICKS | {"urllib3", "yaml"}) == set()


@pytest.mark.parametrize(
    "command", [("get", "x"), ("get", "x", "-w"), ("list",), ("wait", "x"), ("logs", "x")], ids=" ".join
)
def test_commands_that_read_import_no_slow_library(cluster: FakeCluster, torpor: Run, command: tuple[str, ...]) -> None:
    cluster.workflow("x", "a", state="Succeeded", completionTime="2026-11-22T10:00:00Z")
    cluster.taskrun("x", "a")
    assert imported_by(*command) & _SLOW == set()


def test_schedules_are_listed_without_the_library_for_ticks(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("x", next="2026-11-22T10:00:00Z")
    for command in (("schedule", "list"), ("schedule", "pause", "x"), ("schedule", "history", "x", "--live")):
        assert imported_by(*command) & (_SLOW | _TICKS) == set()
    assert imported_by("schedule", "next", "x") & _SLOW == set()


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name, entry in COMMANDS.items() if entry.help not in shown] == []


def test_an_unknown_command_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lsit"]) == 2
    assert capsys.readouterr().err == "torpor: there is no command 'lsit'; did you mean list?\n"


def test_an_unknown_command_of_a_group_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", "lsit"]) == 2
    assert capsys.readouterr().err == "torpor: there is no command 'lsit'; did you mean list?\n"
    assert main(["schedule", "xyz"]) == 2
    assert capsys.readouterr().err == "torpor: there is no command 'xyz'; see `torpor schedule --help`\n"


@pytest.mark.parametrize("group", [name for name, entry in COMMANDS.items() if isinstance(entry, CommandGroup)])
def test_a_group_without_a_command_shows_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([group]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: torpor {group} [OPTIONS] [COMMAND]")
    entry = COMMANDS[group]
    assert isinstance(entry, CommandGroup)
    assert [command.help for command in entry.commands.values() if command.help not in shown] == []


def test_a_wrong_option_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--colour"]) == 2
    assert capsys.readouterr().err == "torpor: No such option '--colour'; see `torpor version --help`\n"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Usage: torpor [OPTIONS]")
    assert captured.err == ""


def test_text_that_the_encoding_of_standard_output_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    monkeypatch.setattr(torpor_cli.__main__, "app", SimpleNamespace(main=lambda *_, **__: output.line("übung ✓")))
    assert torpor_cli.__main__.main([]) == 0
    sys.stdout.flush()
    assert written.getvalue() == b"\xfcbung \\u2713\n"


def test_choices_of_a_wrong_argument_are_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 2
    err = capsys.readouterr().err
    assert "Choose from: bash, zsh, fish; see `torpor completion --help`" in err
    assert "\\n" not in err
