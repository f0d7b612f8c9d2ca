"""The tasks of examples/census.yaml: list the sections, measure each, and print a table."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict

from torpor import Deferral, defer, task
from torpor.triggers import Duration

from census import dpkg


class Row(TypedDict):
    """The result of one section."""

    section: str
    packages: int
    bytes: int


class Report(TypedDict):
    """The result of the workflow."""

    table: str
    packages: int
    bytes: int


@task
def sections(largest: int) -> list[str]:
    """Return the sections with the most packages, largest first."""
    counts = Counter(package.section for package in dpkg.installed())
    return sorted(counts, key=lambda section: (-counts[section], section))[:largest]


@task
def measure(section: str, pause_in: str, pause: str) -> Row | Deferral:
    """Count a section. In one section it defers halfway.

    Only what it passes to `defer` survives: section, packages and bytes.
    """
    members = _members(section)
    if section != pause_in:
        return _row(section, members)
    half = _row(section, members[: len(members) // 2])
    return defer(Duration(pause), then=measure_rest, **half)


def measure_rest(event: Any, section: str, packages: int, bytes: int) -> Row:  # noqa: A002 - the names of a Row
    """Count the other half in a new pod, after the trigger has fired."""
    print(f"resumed by {event}: {packages} packages of {section} were counted before the wait")  # noqa: T201
    rest = _row(section, _members(section)[packages:])
    return Row(section=section, packages=packages + rest["packages"], bytes=bytes + rest["bytes"])


@task
def report(rows: Sequence[Row]) -> Report:
    """Return a table of all sections, largest first, with totals."""
    rows = list(rows)  # read once, for several passes
    packages, size = sum(row["packages"] for row in rows), sum(row["bytes"] for row in rows)
    ordered = sorted(rows, key=lambda row: (-row["bytes"], row["section"]))
    lines = [_line(row["section"], row["packages"], row["bytes"]) for row in ordered]
    head, foot = f"{'SECTION':<16}{'PACKAGES':>9}{'MB':>9}", _line("total", packages, size)
    return Report(table="\n".join([head, *lines, foot]), packages=packages, bytes=size)


def _members(section: str) -> list[dpkg.Package]:
    return [package for package in dpkg.installed() if package.section == section]


def _row(section: str, members: Sequence[dpkg.Package]) -> Row:
    return Row(section=section, packages=len(members), bytes=sum(package.size for package in members))


def _line(section: str, packages: int, size: int) -> str:
    return f"{section:<16}{packages:>9}{size / 1e6:>9.1f}"
