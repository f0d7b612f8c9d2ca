"""CONTRIBUTING.md, the glossary and the READMEs name files, functions and links that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FILE = re.compile(r"`([\w.-]+/[\w/.-]+)`")
FUNCTION = re.compile(r"`(\w+)`\s+in\s+`([\w/.-]+\.py)`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
GLOSSARY_FILE = re.compile(r"^\| [^|]+ \| [^|]+\. `([^`|]+)` \|", re.MULTILINE)


def contributing() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text()


def test_the_files_that_contributing_names_exist() -> None:
    files = set(FILE.findall(contributing()))
    assert len(files) > 10
    assert sorted(path for path in files if not (ROOT / path).exists() and not path.startswith("build/")) == []


def test_the_functions_that_contributing_names_are_in_their_files() -> None:
    functions = FUNCTION.findall(contributing())
    assert len(functions) >= 3
    pattern = r"(def|class) {}\b"
    assert [name for name, path in functions if not re.search(pattern.format(name), (ROOT / path).read_text())] == []


def test_the_file_of_every_term_of_the_glossary_exists() -> None:
    files = GLOSSARY_FILE.findall((ROOT / "docs/glossary.md").read_text())
    assert len(files) > 40
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("page", ["README.md", "worker-image/README.md"])
def test_every_link_of_a_page_outside_the_site_leads_to_a_file(page: str) -> None:
    path = ROOT / page
    links = LINK.findall(path.read_text())
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []
