"""No module imports itself over others: not inside a function either, which the import rules do not see."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMPONENTS = ("archive", "cli", "crds", "local", "operator", "triggerer", "ui", "worker-image")


def _names(root: Path) -> dict[str, Path]:
    """The modules of a component by name; `__init__` and `__main__` are entries that nothing below them imports."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for package in root.glob("torpor*")
        for path in package.rglob("*.py")
        if path.stem not in {"__init__", "__main__"}
    }


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imports(node: ast.AST) -> Iterator[str]:
    """The names that a module imports, wherever in it, except for types."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{name.name}" for name in names)
            case _ if not _is_for_types(child):
                yield from _imports(child)
            case _:
                pass


def test_no_module_imports_itself_over_others() -> None:
    roots = [ROOT / component for component in COMPONENTS] + list((ROOT / "libraries").iterdir())
    paths = {name: path for root in roots for name, path in _names(root).items()}
    graph = {name: paths.keys() & set(_imports(ast.parse(path.read_text()))) for name, path in paths.items()}
    assert len(graph) > 500
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
