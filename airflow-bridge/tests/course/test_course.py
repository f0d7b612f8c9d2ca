"""The commands of the course for people who come from Airflow print what its page says: `make airflow-course`."""

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from course.console_page import ConsoleCommand, commands, play, sections

BRIDGE = Path(__file__).parents[2]
PAGE = BRIDGE.parent / "docs/coming-from/airflow-course.md"
ON_A_CLUSTER = "The images and the pool"
_SECONDS = 1_200.0
"""A limit for a machine under load: the check starts an Airflow with a database."""


def local_sections() -> dict[str, str]:
    """The sections before those that need a cluster, in their order."""
    found = sections(PAGE)
    titles = [*found]
    return {title: found[title] for title in titles[: titles.index(ON_A_CLUSTER)]}


def test_the_page_has_commands_with_and_without_a_cluster() -> None:
    assert len(commands("".join(local_sections().values()))) >= 8
    assert len(commands(sections(PAGE)["On a cluster"])) >= 8


@pytest.mark.parametrize(
    ("output", "printed", "fits"),
    [
        ("", "", True),
        ("a\nb", "a\nb\n", True),
        ("a", "a\nb\n", False),
        ("a …c", "a bc\n", True),
        ("a\n…\nd", "a\nb\nc\nd\n", True),
        ("a\n…\nd", "a\nb\n", False),
        ("a.c", "abc\n", False),
    ],
)
def test_an_ellipsis_of_the_page_stands_for_any_text(output: str, printed: str, fits: bool) -> None:
    assert ConsoleCommand(text="x", output=output).matches(printed) == fits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder of the course, in which the commands run."""
    shutil.copytree(BRIDGE / "course", tmp_path / "course")
    return tmp_path / "course"


@pytest.mark.long
def test_each_command_without_a_cluster_prints_what_the_page_says(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    wanted = [
        ConsoleCommand(text=each.text.replace("8000", port), output=each.output.replace("8000", port))
        for each in commands("".join(local_sections().values()))
        if not each.text.startswith(("make ", "cd ", "export PATH="))
    ]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    printed = play(wanted, folder, {**kept, "PATH": path}, _SECONDS)
    for each, text in zip(wanted, printed, strict=True):
        assert each.matches(text), f"{each.text} printed:\n{text}"
