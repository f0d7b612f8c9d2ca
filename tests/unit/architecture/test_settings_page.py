"""docs/settings.md names every flag of the three programs, and no other."""

import argparse
import re
from pathlib import Path

import pytest
from torpor_archive import settings as archive
from torpor_operator import __main__ as operator
from torpor_triggerer import settings as triggerer

_PAGE = Path(__file__).resolve().parents[3] / "docs/settings.md"
_ROW = re.compile(r"^\| `(--[a-z-]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize(
    ("title", "parser"),
    [("Operator", operator.parser({})), ("Triggerer", triggerer.parser({})), ("Archive", archive.parser({}))],
)
def test_the_page_has_a_row_for_every_flag_with_its_default(title: str, parser: argparse.ArgumentParser) -> None:
    section = _PAGE.read_text().partition(f"## {title}: ")[2].partition("\n## ")[0]
    rows = {flag: default for flag, default, _ in _ROW.findall(section)}
    flags = {
        action.option_strings[0]: action.default for action in parser._actions if "-h" not in action.option_strings
    }
    assert rows.keys() == flags.keys()
    for flag, default in flags.items():
        if flag != "--identity" and default not in (None, []):
            assert rows[flag].endswith(str(default)), flag
