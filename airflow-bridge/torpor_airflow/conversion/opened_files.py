"""The files that a DAG file reads while it is imported, such as the YAML of a factory of DAGs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_READ_MODES = {None, "r", "rb", "rt"}
_collecting: list[set[str]] = []
"""The set of each open block. Python cannot remove an audit hook, so that there is one, which looks here."""
_installed: list[bool] = []


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Yield a set that gets the path of each file that this process opens for reading inside the block."""
    if not _installed:
        sys.addaudithook(_on_event)
        _installed.append(True)
    opened: set[str] = set()
    _collecting.append(opened)
    try:
        yield opened
    finally:
        _collecting.remove(opened)


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _collecting or event != "open":
        return
    path, mode, _ = arguments
    if isinstance(path, str) and mode in _READ_MODES:
        for opened in _collecting:
            opened.add(path)


def data_files(opened: set[str]) -> list[Path]:
    """Return those that are neither code of Python nor gone."""
    paths = sorted({Path(each).absolute() for each in opened if not each.endswith((".py", ".pyc"))})
    return [path for path in paths if path.is_file()]
