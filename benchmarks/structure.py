"""`python -m benchmarks.structure REVISION...`: sizes of packages, modules, import contracts and tests, side by side.

Reads the revisions from git, not from the working tree.
"""

import argparse
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_COMPONENTS = {
    "operator": "operator/torpor_operator",
    "triggerer": "triggerer/torpor_triggerer",
    "crds": "crds/torpor_crds",
    "archive": "archive/torpor_archive",
    "worker-image": "worker-image/torpor",
    "wire": "libraries/wire/torpor_wire",
    "expressions": "libraries/expressions/torpor_expressions",
    "dev": "dev",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The Python files of a revision with their numbers of lines, and its `.importlinter`."""

    lines: dict[PurePosixPath, int]
    contracts: int
    contract_lines: int


def main() -> None:
    """Print one table for each measure, one column for each revision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", default=["HEAD"])
    revisions = parser.parse_args().revisions
    columns = [dict(rows(read(revision))) for revision in revisions]
    print("| measure | " + " | ".join(revisions) + " |")
    print("|---|" + "---:|" * len(revisions))
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"| {name} | " + " | ".join(str(column.get(name, "")) for column in columns) + " |")


def read(revision: str) -> Tree:
    """The tree of a revision."""
    paths = [PurePosixPath(path) for path in _git("ls-tree", "-r", "--name-only", revision).splitlines()]
    python = [path for path in paths if path.suffix == ".py"]
    contract = _git("show", f"{revision}:.importlinter")
    return Tree(
        lines={path: _git("show", f"{revision}:{path}").count("\n") for path in python},
        contracts=contract.count("[importlinter:contract:"),
        contract_lines=contract.count("\n"),
    )


def rows(tree: Tree) -> Iterator[tuple[str, object]]:
    """Each measure by its name."""
    for component, folder in _COMPONENTS.items():
        sizes = {path: size for path, size in tree.lines.items() if path.is_relative_to(folder)}
        folders: dict[PurePosixPath, int] = defaultdict(int)
        for path in sizes:
            folders[path.parent] += path.name != "__init__.py"
        modules = [size for path, size in sizes.items() if path.name != "__init__.py"]
        yield f"{component}: modules", len(modules)
        yield f"{component}: modules of the largest folder", max(folders.values())
        yield f"{component}: lines of a module, median / largest", f"{statistics.median(modules):.0f} / {max(modules)}"
    yield "import contracts", tree.contracts
    yield "lines of .importlinter", tree.contract_lines
    tests = {path: size for path, size in tree.lines.items() if path.parts[0] == "tests" and "bench" not in path.parts}
    yield "test files (test_*.py)", sum(path.name.startswith("test_") for path in tests)
    yield "test files under 45 lines", sum(path.name.startswith("test_") and size < 45 for path, size in tests.items())
    yield "lines of tests and their support", sum(tests.values())


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
