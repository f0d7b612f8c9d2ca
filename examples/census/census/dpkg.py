"""Reads dpkg's database: paragraphs of `Field: value` lines, one paragraph a package (deb-control(5)).

Beside it stands for each package a list of the MD5 of its files.

Must not import torpor: this is the part of a user's code that exists without workflows.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

DATABASE = Path("/var/lib/dpkg/status")
FILES = Path("/var/lib/dpkg/info")
_KIB = 1024


class Package(NamedTuple):
    """An installed package; `size` is in bytes, as estimated by whoever built it."""

    name: str
    section: str
    size: int


class File(NamedTuple):
    """A file of a package: its path below the root, and the MD5 of what was shipped."""

    path: str
    md5: str


def shipped(package: str, folder: Path = FILES) -> list[File]:
    """The files of an installed package but for its configuration, as they were shipped; none where it notes none."""
    # A package that may be there for several architectures is called name:architecture.
    lists = [folder / f"{package}.md5sums", *sorted(folder.glob(f"{package}:*.md5sums"))]
    lines = [line for each in lists if each.exists() for line in each.read_text(encoding="utf-8").splitlines()]
    return [File(path, md5) for md5, path in (line.split(maxsplit=1) for line in lines)]


def installed(database: Path = DATABASE) -> list[Package]:
    """The installed packages, by name."""
    with database.open(encoding="utf-8") as lines:
        return sorted(package for fields in _paragraphs(lines) if (package := _package(fields)))


def _package(fields: dict[str, str]) -> Package | None:
    if not fields.get("Status", "").endswith(" installed"):
        return None
    # A section may carry its area (contrib/net); what it is about comes last.
    section = fields.get("Section", "unknown").rpartition("/")[2]
    return Package(fields["Package"], section, int(fields.get("Installed-Size", "0")) * _KIB)


def _paragraphs(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not line.strip():
            yield fields
            fields = {}
        elif colon and not line[0].isspace():
            fields[name] = value.strip()
    yield fields
