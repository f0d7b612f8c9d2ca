"""A mutant of the simulation replaces public names, so that a change behind them does not disarm it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

MUTANTS = Path(__file__).resolve().parents[2] / "simulation" / "mutants"
PRIVATE = re.compile(r"_(?!_name__)\w+")


def private_names(tree: ast.AST) -> Iterator[str]:
    """The private names of other modules and classes: attributes, imports, and names to replace."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
                if PRIVATE.fullmatch(name):
                    yield name
            case _:
                pass


@pytest.mark.parametrize("path", sorted(MUTANTS.glob("[!_]*.py")), ids=lambda path: path.stem)
def test_a_mutant_replaces_no_private_name(path: Path) -> None:
    assert set(private_names(ast.parse(path.read_text()))) == set()
