"""docs/design/security.md names tests that exist."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]
_NAMED = re.compile(r"`([a-z_/]*test_[a-z_]+\.py)(?:::(test_[a-z0-9_]+))?`|`(::test_[a-z0-9_]+)`")


def references() -> list[tuple[str, str]]:
    """Files of tests, and functions in them or nothing; a bare function is of the file named before it."""
    found: list[tuple[str, str]] = []
    for match in _NAMED.finditer((_ROOT / "docs/design/security.md").read_text()):
        file, name, bare = match.groups()
        found.append((file, name or "") if file else (found[-1][0], bare.removeprefix("::")))
    return found


@pytest.mark.parametrize(("file", "name"), references())
def test_each_test_that_the_page_names_is_there(file: str, name: str) -> None:
    path = _ROOT / "tests" / re.sub(r"^attacks/", "integration/attacks/", file)
    assert path.is_file()
    assert f"def {name}" in path.read_text()


def test_the_page_names_the_tests_of_each_attack() -> None:
    assert {file.removeprefix("attacks/") for file, _ in references() if file.startswith("attacks/")} == {
        path.name for path in (_ROOT / "tests/integration/attacks").glob("test_*.py")
    }
