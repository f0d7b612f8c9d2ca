"""`python -m benchmarks.structure REVISION...`: sizes of the tree, its names and its import rules, side by side.

Reads the revisions from git, not from the working tree. A component of the product is a folder with a `pyproject.toml`.
"""

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath as Path

from benchmarks.harness.figures import markdown

_BESIDE = ("tests", "benchmarks", "examples", "conformance", "docs", "dev")
_SMALL = 40


@dataclass(frozen=True, kw_only=True)
class RevisionTree:
    """The files of a revision that this reads, as text, and the visible top-level folders."""

    files: dict[Path, str]
    folders: frozenset[str]

    @cached_property
    def modules(self) -> dict[Path, int]:
        """The lines of each Python file."""
        return {path: text.count("\n") for path, text in self.files.items() if path.suffix == ".py"}

    @cached_property
    def classes(self) -> Counter[str]:
        """How often each name is that of a class at the top of a module, private ones excluded."""
        nodes = (node for module in self._parsed for node in module.body if isinstance(node, ast.ClassDef))
        return Counter(node.name for node in nodes if not node.name.startswith("_"))

    @cached_property
    def functions(self) -> Counter[str]:
        """How often each name is that of a function or a method."""
        nodes = (node for module in self._parsed for node in ast.walk(module))
        return Counter(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    @cached_property
    def _parsed(self) -> list[ast.Module]:
        return [ast.parse(self.files[path]) for path in self.modules]

    def component(self, path: Path) -> str:
        """The name of its folder, such as `wire` of `libraries/wire`; beside the product, the top-level folder."""
        owners = [parent for parent in path.parents if parent / "pyproject.toml" in self.files and parent.name]
        return owners[0].name if owners and path.parts[0] not in _BESIDE else path.parts[0]


def main() -> None:
    """Print one row for each measure, one column for each revision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", default=["HEAD"])
    revisions = parser.parse_args().revisions
    columns = [dict(measures(read(revision))) for revision in revisions]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [(name, *(column.get(name, "") for column in columns)) for name in names]
    print(markdown(("measure", *revisions), rows, numbers=True), end="")


def read(revision: str) -> RevisionTree:
    """The tree of a revision."""
    archive = subprocess.run(["git", "archive", revision], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = {Path(member.name): member for member in tar if member.isfile()}
        wanted = {path: tar.extractfile(member) for path, member in members.items() if _is_read(path)}
        files = {path: file.read().decode() for path, file in wanted.items() if file is not None}
    folders = {path.parts[0] for path in members if len(path.parts) > 1}
    return RevisionTree(files=files, folders=frozenset(name for name in folders if not name.startswith(".")))


def _is_read(path: Path) -> bool:
    return path.suffix == ".py" or path.name in {"pyproject.toml", ".importlinter"}


def measures(tree: RevisionTree) -> Iterator[tuple[str, object]]:
    """Each measure by its name."""
    product = {path: size for path, size in tree.modules.items() if path.parts[0] not in _BESIDE}
    yield "visible top-level folders", len(tree.folders)
    yield "packages (folders with modules)", len({path.parent for path in tree.modules})
    yield from _modules("", tree.modules)
    yield from _modules("product: ", product)
    yield "classes", tree.classes.total()
    yield "names of several classes", sum(count > 1 for count in tree.classes.values())
    yield "functions named `of`", tree.functions["of"]
    rules = tree.files[Path(".importlinter")]
    yield "import contracts", rules.count("[importlinter:contract:")
    yield "lines of .importlinter", rules.count("\n")
    yield "test files (test_*.py)", sum(path.name.startswith("test_") for path in tree.modules)
    yield "lines of Python", sum(tree.modules.values())
    yield from _lines("beside the product", tree, tree.modules.keys() - product.keys())
    yield "lines of the product", sum(product.values())
    yield from _lines("of the product", tree, product)


def _modules(of_what: str, modules: dict[Path, int]) -> Iterator[tuple[str, object]]:
    sizes = [size for path, size in modules.items() if path.name != "__init__.py"]
    folders = Counter(path.parent for path in modules if path.name != "__init__.py")
    yield f"{of_what}modules", len(sizes)
    yield f"{of_what}modules under {_SMALL} lines", sum(size < _SMALL for size in sizes)
    yield f"{of_what}lines of the largest module", max(sizes)
    yield f"{of_what}modules of the largest folder", max(folders.values())


def _lines(title: str, tree: RevisionTree, paths: Iterable[Path]) -> Iterator[tuple[str, object]]:
    lines: Counter[str] = Counter()
    for path in paths:
        lines[tree.component(path)] += tree.modules[path]
    yield from ((f"lines {title}, {component}", count) for component, count in sorted(lines.items()))


if __name__ == "__main__":
    main()
