"""Each Python block of the documentation compiles, and what it imports from `torpor` exists."""

import ast
import importlib
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {
    f"{path.relative_to(_ROOT)}-{number}": text
    for path in [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]
    for number, text in enumerate(_BLOCK.findall(path.read_text()), start=1)
}


def imported(text: str) -> list[tuple[str, str]]:
    """Modules of the SDK and the names that a block takes from them."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "torpor"
        for alias in node.names
    ]


@pytest.mark.parametrize("place", BLOCKS)
def test_a_block_compiles(place: str) -> None:
    compile(BLOCKS[place], place, "exec")


@pytest.mark.parametrize("place", [place for place, text in BLOCKS.items() if imported(text)])
def test_what_a_block_imports_exists(place: str) -> None:
    assert [f"{module}.{name}" for module, name in imported(BLOCKS[place]) if not _exists(module, name)] == []


def _exists(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name)
