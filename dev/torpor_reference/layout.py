"""The components, the layers and the decisions of the repository, from its folders and files.

The first line of a package's docstring describes the package. The first line of a record is its title.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from torpor_reference.tables import PageError, Row, Table, markdown

_FOLDERS = (
    "libraries",
    "crds",
    "operator",
    "triggerer",
    "archive",
    "cli",
    "local",
    "ui",
    "worker-image",
    "airflow-bridge",
    "manifests",
    "examples",
    "docs",
    "dev",
    "tests",
    "benchmarks",
)
"""The visible top-level folders in the order of the tables."""
_PARTS = ("worker-image/runtime-tool", "tests/conformance")
"""Folders below a top-level folder that have a row of their own and are not packages of Python."""
_PRODUCT = _FOLDERS[: _FOLDERS.index("manifests") + 1]
_TITLE = re.compile(r"^# (\d{4}): (.+)$", re.MULTILINE)


def folders(root: Path) -> Table:
    """Return every component with its folder and its package. The page describes folders without a package."""
    unknown = _visible(root) ^ set(_FOLDERS)
    if unknown:
        raise PageError(f"layout: {', '.join(sorted(unknown))} is not both a folder and in the list of folders")
    return Table(header=("Folder", "Package", "Contents"), rows=[row for name in _FOLDERS for row in _rows(root, name)])


def components(root: Path) -> str:
    """Return the packages of the product."""
    rows = [row for name in _PRODUCT for row in _rows(root, name) if len(row) > 1 and row[1]]
    return markdown(("Folder", "Package", "Contents"), rows)


def layers(root: Path) -> dict[str, str]:
    """Return the layers of each package of the product that has any."""
    layer_rows = {package.name: _layers(package) for name in _PRODUCT for package in _packages(root / name)}
    return {f"layers of {name}": markdown(("Layer", "Contents"), rows) for name, rows in layer_rows.items() if rows}


def decisions(root: Path) -> str:
    """Return the decision records with their titles."""
    records = sorted((root / "docs/adr").glob("[0-9]*.md"))
    return markdown(("Record", "Decision"), [_decision(record) for record in records])


def _visible(root: Path) -> set[str]:
    """The top-level folders that are part of the repository."""
    ignored = {line.strip("/") for line in (root / ".gitignore").read_text().splitlines()}
    return {path.name for path in root.iterdir() if path.is_dir() and path.name[0] != "."} - ignored


def _rows(root: Path, name: str) -> Iterator[Row]:
    """The rows of one top-level folder: its packages, or the folder itself, then its other parts."""
    packages = list(_packages(root / name))
    for package in packages:
        yield f"`{package.parent.relative_to(root)}`", f"`{package.name}`", _summary(package)
    if not packages:
        yield f"`{name}`", ""
    yield from ((f"`{part}`", "") for part in _PARTS if part.startswith(f"{name}/"))


def _packages(folder: Path) -> Iterator[Path]:
    """The import packages of a component, or of each component in the folder."""
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").is_file():
            yield path
        elif (path / "pyproject.toml").is_file() and folder.name == "libraries":
            yield from _packages(path)


def _layers(package: Path) -> list[Row]:
    folders = sorted(path.parent for path in package.rglob("__init__.py") if path.parent != package)
    return [(f"`{folder.relative_to(package)}`", _summary(folder)) for folder in folders]


def _summary(package: Path) -> str:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
    if not docstring:
        raise PageError(f"layout: {package} has no docstring")
    return docstring.splitlines()[0]


def _decision(record: Path) -> Row:
    title = _TITLE.search(record.read_text())
    if title is None:
        raise PageError(f"{record.name}: the first line is not `# NUMBER: TITLE`")
    return f"[{title[1]}]({record.name})", title[2]
