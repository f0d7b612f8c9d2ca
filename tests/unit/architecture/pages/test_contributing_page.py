"""CONTRIBUTING.md names files and functions that exist."""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[4]
_PAGE = (_ROOT / "CONTRIBUTING.md").read_text()
_FUNCTION = re.compile(r"`(\w+)`\s+in\s+`([\w/.-]+\.py)`")


def test_the_files_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`([\w.-]+/[\w/.-]+)`", _PAGE))
    assert len(named) > 10
    assert sorted(path for path in named if not (_ROOT / path).exists() and not path.startswith("build/")) == []


def test_the_functions_that_the_page_names_are_in_their_files() -> None:
    named = _FUNCTION.findall(_PAGE)
    assert len(named) >= 3
    assert [name for name, path in named if f"def {name}(" not in (_ROOT / path).read_text()] == []
