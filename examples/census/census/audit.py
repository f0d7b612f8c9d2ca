"""The tasks of examples/groups: do the files of the image match what Debian shipped?"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from torpor import task

from census import dpkg


class Check(TypedDict):
    """The state of a package's files. `absent` files are missing in the image, often documentation."""

    files: int
    absent: int
    changed: list[str]


class Row(TypedDict):
    """The result of one section."""

    section: str
    packages: int
    files: int
    absent: int
    changed: list[str]


@task
def packages(section: str, largest: int) -> list[str]:
    """Return the largest packages of a section, by name."""
    members = [package for package in dpkg.installed() if package.section == section]
    return [package.name for package in sorted(members, key=lambda package: (-package.size, package.name))[:largest]]


@task
def fetch(package: str) -> list[dpkg.File]:
    """Return the files of a package. Large packages have long lists, which go through the archive."""
    return dpkg.shipped(package)


@task
def check(files: Sequence[Sequence[str]], root: str = "/") -> Check:
    """Read each file and compare it."""
    digests = {path: _digest(Path(root, path)) for path, _ in files}
    changed = [path for path, digest in files if digests[path] not in {digest, None}]
    return Check(files=len(files), absent=list(digests.values()).count(None), changed=changed)


@task
def load(section: str, checks: Sequence[Check]) -> Row:
    """Return the totals of a section, reading the results one at a time."""
    row = Row(section=section, packages=0, files=0, absent=0, changed=[])
    for each in checks:
        row["packages"] += 1
        row["files"] += each["files"]
        row["absent"] += each["absent"]
        row["changed"] += each["changed"]
    return row


@task
def report(rows: Sequence[Row]) -> str:
    """Return a table of all sections."""
    head = f"{'SECTION':<16}{'PACKAGES':>9}{'FILES':>9}{'ABSENT':>9}{'CHANGED':>9}"
    return "\n".join([head, *(_line(row) for row in rows)])


def _line(row: Row) -> str:
    return f"{row['section']:<16}{row['packages']:>9}{row['files']:>9}{row['absent']:>9}{len(row['changed']):>9}"


def _digest(path: Path) -> str | None:
    """Return the MD5 sum of a file, as dpkg does; None if it cannot be read."""
    try:
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    except OSError:
        return None
