"""Each file that docs/glossary.md names exists."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]
_ROWS = re.findall(r"^\| ([^|]+) \| [^|]+\. `([^`|]+)` \|", (_ROOT / "docs/glossary.md").read_text(), re.MULTILINE)


def test_the_page_has_a_row_for_each_term() -> None:
    assert len(_ROWS) > 40


@pytest.mark.parametrize(("term", "file"), _ROWS)
def test_the_file_of_a_term_exists(term: str, file: str) -> None:
    assert (_ROOT / file).is_file()
