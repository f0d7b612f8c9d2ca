"""The rule pages and the differences from Airflow in docs/design name tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
NAMED = re.compile(r"`([\w/*]+\.py)(?:::(\w+))?`")
PAGES = ("design/rules-of-deferral", "design/rules-of-mapping")


def page(name: str) -> str:
    return (ROOT / f"docs/{name}.md").read_text()


def found(name: str) -> list[Path]:
    return sorted(ROOT.glob(name if name.startswith("tests/") else f"tests/unit/{name}"))


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("name", [*PAGES, "design/differences-from-airflow"])
def test_every_test_that_a_page_names_is_there(name: str) -> None:
    missing = []
    for file, test in NAMED.findall(page(name)):
        paths = found(file)
        if not paths or (test and not any(test in defined_in(path) for path in paths)):
            missing.append(f"{file}::{test}")

    assert missing == []


@pytest.mark.parametrize("name", PAGES)
def test_every_rule_of_a_page_has_a_source_and_a_test_or_a_reason(name: str) -> None:
    lines = [line.strip("|") for line in page(name).splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in re.split(r" \|(?= |$)", line)] for line in lines]

    assert len(rows) > 30
    assert [row for row in rows if len(row) != 4 or not (row[0] and row[1] and (row[2] or row[3]))] == []
