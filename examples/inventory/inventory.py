"""The tasks of examples/inventory.yaml: measure the largest packages of Python's standard library."""

import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from torpor import Deferral, defer
from torpor.triggers import Duration

LIBRARY = Path(sysconfig.get_path("stdlib"))


class Row(TypedDict):
    """The result of one package."""

    package: str
    files: int
    kilobytes: int


def packages(largest: int) -> list[str]:
    """Return the packages with the most modules, largest first."""
    sizes = {
        folder.name: len(modules(folder.name)) for folder in LIBRARY.iterdir() if (folder / "__init__.py").exists()
    }
    return sorted(sizes, key=lambda name: (-sizes[name], name))[:largest]


def measure(package: str, pause: str) -> Deferral:
    """Count the modules, then wait without a pod. The state that it passes to `defer` survives, and nothing else."""
    return defer(Duration(pause), then=weigh, package=package, files=len(modules(package)))


def weigh(package: str, files: int, event: object) -> Row:
    """Add up the sizes, in a new pod, after the trigger has fired."""
    print(f"resumed by {event}: {package} has {files} modules")  # noqa: T201 - the log of the pod
    size = sum(path.stat().st_size for path in modules(package))
    return Row(package=package, files=files, kilobytes=size // 1000)


def report(rows: Sequence[Row]) -> str:
    """Return a table, largest first."""
    ordered = sorted(rows, key=lambda row: -row["kilobytes"])
    return "\n".join(f"{row['package']:<16}{row['files']:>4} files{row['kilobytes']:>8} kB" for row in ordered)


def modules(package: str) -> list[Path]:
    """Return the files of a package, without its tests."""
    return [path for path in (LIBRARY / package).rglob("*.py") if "test" not in path.parts]
