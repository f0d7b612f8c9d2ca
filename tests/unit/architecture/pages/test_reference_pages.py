"""The generated parts of docs/reference are what the code says, and the generator notices what a page lacks."""

from pathlib import Path

import pytest
from torpor_reference import __main__ as reference
from torpor_reference.tables import PageError, Table, fill

PAGE = "Flags.\n\n<!-- generated: flags -->\n| `--a` | 1 | What a does. |\n<!-- end -->\n"
HEADER = ("Flag", "Default", "Meaning")


@pytest.mark.parametrize(("path", "text"), reference.pages().items())
def test_a_page_is_what_the_code_says(path: Path, text: str) -> None:
    assert path.read_text() == text, "run make generate"


def test_a_fact_follows_the_code_and_its_description_stays() -> None:
    filled = fill(PAGE, {"flags": Table(header=HEADER, rows=[("`--a`", "2")])})

    assert "| `--a` | 2 | What a does. |" in filled
    assert fill(filled, {"flags": Table(header=HEADER, rows=[("`--a`", "2")])}) == filled


def test_an_entry_without_a_description_is_named() -> None:
    with pytest.raises(PageError, match="flags: add a line with a description for `--b`"):
        fill(PAGE, {"flags": Table(header=HEADER, rows=[("`--a`", "1"), ("`--b`", "2")])})


def test_an_entry_that_the_code_lacks_goes() -> None:
    assert "--a" not in fill(PAGE, {"flags": Table(header=HEADER, rows=[])})


def test_a_block_that_nothing_generates_is_named() -> None:
    with pytest.raises(PageError, match="flags"):
        fill(PAGE, {"metrics": "text"})
