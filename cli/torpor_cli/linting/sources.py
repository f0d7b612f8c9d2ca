"""Reads the files, folders and standard input that are named on the command line."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torpor_cli.linting.yaml_documents import TEXT_MAX

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file and its text, or why the text cannot be decoded. `named` is false for a file of a folder."""

    name: str
    text: str = ""
    error: str = ""
    named: bool = True


class UnreadableFileError(Exception):
    """A file or folder that cannot be read, with what to do."""


def read(names: Sequence[str], *, recursive: bool) -> Iterator[SourceFile]:
    """Yield each file; of a folder the .yaml, .yml and .json files in it. Raises UnreadableFileError."""
    for name in dict.fromkeys(names):
        if name == STDIN:
            yield _decoded("<stdin>", sys.stdin.buffer.read(TEXT_MAX + 1))
        elif Path(name).is_dir():
            yield from _folder(Path(name), recursive=recursive)
        else:
            yield _file(Path(name))


def _folder(folder: Path, *, recursive: bool) -> Iterator[SourceFile]:
    paths = folder.rglob("*") if recursive else folder.glob("*")
    files = sorted(path for path in paths if path.suffix in _SUFFIXES and path.is_file())
    if not files:
        hint = "" if recursive else "; -R also searches the folders in it"
        raise UnreadableFileError(f"{folder}: no .yaml, .yml or .json file in this folder{hint}")
    yield from (replace(_file(path), named=False) for path in files)


def _file(path: Path) -> SourceFile:
    try:
        with path.open("rb") as file:
            return _decoded(str(path), file.read(TEXT_MAX + 1))
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error


def _decoded(name: str, content: bytes) -> SourceFile:
    if len(content) > TEXT_MAX:
        return SourceFile(name=name, error=f"the file has more than {TEXT_MAX:,} bytes; split it")
    try:
        return SourceFile(name=name, text=content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return SourceFile(name=name, error=f"the file is not UTF-8: byte {error.start}: {error.reason}")
