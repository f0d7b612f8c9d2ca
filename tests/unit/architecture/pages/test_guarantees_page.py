"""docs/design/guarantees.md names tests that exist."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]
_NAMED = re.compile(r"`((?:tests/)?[\w/]*(?:test_[\w*]+\.py|/))`")


def references() -> list[str]:
    """Paths of tests. A bare name is in the folder of the name before it, or of one before that in its row."""
    found: list[str] = []
    for line in (_ROOT / "docs/design/guarantees.md").read_text().splitlines():
        folders: list[str] = []
        for name in _NAMED.findall(line):
            if name.startswith("tests/"):
                folders.append(name.rpartition("/")[0])
            found.append(name if name.startswith("tests/") else f"{folders[-1]}/{name}")
    return found


@pytest.mark.parametrize("path", sorted(set(references())))
def test_each_test_that_the_page_names_is_there(path: str) -> None:
    assert sorted(_ROOT.glob(path.rstrip("/")))
