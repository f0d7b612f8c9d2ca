"""Reads the database of dpkg: one paragraph of `Field: value` lines for each package (deb-control(5)).

A list of MD5 sums accompanies each package. This module does not import torpor: it is ordinary user code.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

DATABASE = Path("/var/lib/dpkg/status")
FILES = Path("/var/lib/dpkg/info")
_KIB = 1024


class Package(NamedTuple):
    """An installed package. `size` is in bytes, as the package declares it."""

    name: str
    section: str
    size: int


class File(NamedTuple):
    """A file of a package: its path below the root, and the MD5 sum of the shipped contents."""

    path: str
    md5: str


def shipped(package: str, folder: Path = FILES) -> list[File]:
    """Return the files of an installed package without configuration files; none if the package lists none."""
    # A package that supports several architectures is called name:architecture.
    lists = [folder / f"{package}.md5sums", *sorted(folder.glob(f"{package}:*.md5sums"))]
    lines = [line for each in lists if each.exists() for line in each.read_text(encoding="utf-8").splitlines()]
    return [File(path, md5) for md5, path in (line.split(maxsplit=1) for line in lines)]


def installed(database: Path = DATABASE) -> list[Package]:
    """Return the installed packages by name."""
    with database.open(encoding="utf-8") as lines:
        return sorted(package for fields in _paragraphs(lines) if (package := _package(fields)))


def _package(fields: dict[str, str]) -> Package | None:
    if not fields.get("Status", "").endswith(" installed"):
        return None
    # A section may have an area (contrib/net); the topic comes last.
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
