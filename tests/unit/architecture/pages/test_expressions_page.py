"""Each example of docs/reference/expressions.md has the value that the page gives it."""

import json
import re
from pathlib import Path

import pytest
from torpor_expressions.evaluator import evaluate_here
from torpor_expressions.value import Value

_PAGE = (Path(__file__).resolve().parents[4] / "docs/reference/expressions.md").read_text()
_TABLES = re.findall(r"^\| Expression \| Value \|\n\| --- \| --- \|\n(.*?)\n\n", _PAGE + "\n", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (expression, value)
    for table in _TABLES
    for expression, value in re.findall(r"^\| `(.*)` \| `(.*)` \|$", table, re.MULTILINE)
]


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == sum(table.count("\n") + 1 for table in _TABLES) > 70


@pytest.mark.parametrize(("expression", "value"), EXAMPLES)
def test_an_example_has_the_value_that_the_page_gives_it(expression: str, value: str) -> None:
    assert evaluate_here(expression, {}) == Value(json=json.loads(value))
