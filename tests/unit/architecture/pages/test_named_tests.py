"""The pages about guarantees, security and rules name tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
RULES = ("rules-of-deferral", "rules-of-mapping")
PAGES = (*RULES, "differences-from-airflow", "guarantees", "security")
NAMED = re.compile(r"`([\w*/.-]*(?:test_[\w*]+\.py|/))?(?:::(test_\w+))?`")
FOLDERS = ("tests/unit", "tests/integration", "tests")


def named(page: str) -> set[tuple[str, str]]:
    """Files of tests, and functions in them or nothing.

    A function without a file is in the file before it. A file without a folder may be in the folder before it.
    """
    tests: set[tuple[str, str]] = set()
    for line in (ROOT / f"docs/design/{page}.md").read_text().splitlines():
        folder = former = ""
        for file, function in NAMED.findall(line):
            if "test_" not in f"{file}{function}" and not file.startswith("tests/"):
                continue
            former = file or former
            if "/" not in former:
                former = f"{folder}/{former}"
            folder = former.rpartition("/")[0]
            tests.add((former, function))
    return tests


def files(name: str) -> list[Path]:
    return next((paths for folder in FOLDERS if (paths := sorted((ROOT / folder).glob(name)))), sorted(ROOT.glob(name)))


@cache
def functions(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    tests = named(page)
    assert len(tests) > 15
    assert [
        (file, function)
        for file, function in sorted(tests)
        if not files(file) or (function and not any(function in functions(path) for path in files(file)))
    ] == []


def test_the_security_page_names_the_tests_of_each_attack() -> None:
    folder = ROOT / "tests/integration/attacks"
    assert {file.rpartition("/")[2] for file, _ in named("security") if file.startswith("attacks/")} == {
        path.name for path in folder.glob("test_*.py")
    }


@pytest.mark.parametrize("page", RULES)
def test_every_rule_has_a_source_and_a_test_or_a_reason(page: str) -> None:
    lines = [line.strip("|") for line in (ROOT / f"docs/design/{page}.md").read_text().splitlines() if line[:2] == "| "]
    rows = [[cell.strip() for cell in re.split(r" \|(?= |$)", line)] for line in lines]
    assert len(rows) > 30
    assert [row for row in rows if len(row) != 4 or not (row[0] and row[1] and (row[2] or row[3]))] == []
