"""The generated parts of the documentation are what the code says, and the generator notices what a page lacks."""

from pathlib import Path

import pytest
from torpor_reference import __main__ as reference
from torpor_reference import layout
from torpor_reference.tables import PageError, Table, fill

PAGE = "Flags.\n\n<!-- generated: flags -->\n| `--a` | 1 | What a does. |\n<!-- end -->\n"
HEADER = ("Flag", "Default", "Meaning")


def test_each_page_is_what_the_code_says() -> None:
    for path, text in reference.pages().items():
        assert path.read_text() == text, f"{path}: run make generate"


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


def test_a_new_folder_at_the_top_needs_a_place_in_the_list(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("build", "operator", "surprise"):
        (tmp_path / name).mkdir()
    with pytest.raises(PageError, match="surprise"):
        layout.folders(tmp_path)
