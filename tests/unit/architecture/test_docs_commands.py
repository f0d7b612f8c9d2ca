"""Every make target and `torpor` command that the documentation names exists, and every file that a command applies."""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_TARGETS = set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text(), re.MULTILINE))
_MAKE = re.compile(r"(?:^|`|\$\()make((?: (?:-s|[a-z][a-z-]*))+)", re.MULTILINE)
_FILE = re.compile(r"(?:-f|-k) ((?:examples|manifests)/[\w./-]+)")
_COMMAND = re.compile(r"^#{2,4} torpor ([a-z]+)", re.MULTILINE)
_TORPOR = re.compile(r"(?:^|`|^\$ |^ +)torpor (?!from-airflow)([a-z]+)", re.MULTILINE)
"""`torpor from-airflow` is a plugin of the Airflow bridge."""
_MADE_BY_THE_READER = {"manifests/team"}


def test_every_torpor_command_exists() -> None:
    commands = set(_COMMAND.findall((_ROOT / "docs/reference/cli.md").read_text()))
    named = {(path.name, command) for path in _PAGES for command in _TORPOR.findall(path.read_text())}
    assert len(named) > 50
    assert sorted(pair for pair in named if pair[1] not in commands) == []


def test_every_make_target_exists() -> None:
    named = {
        (path.name, target)
        for path in _PAGES
        for targets in _MAKE.findall(path.read_text())
        for target in targets.split()
        if target != "-s"
    }
    assert len(named) > 10
    assert sorted(pair for pair in named if pair[1] not in _TARGETS) == []


def test_every_file_that_a_command_applies_exists() -> None:
    named = {file for path in _PAGES for file in _FILE.findall(path.read_text())} - _MADE_BY_THE_READER
    assert named
    assert sorted(file for file in named if not (_ROOT / file).exists()) == []
