"""docs/design/decisions.md lists every decision record."""

from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("record", sorted(path.name for path in (_ROOT / "docs" / "adr").glob("[0-9]*.md")))
def test_the_page_lists_every_record(record: str) -> None:
    assert f"](../adr/{record})" in (_ROOT / "docs/design/decisions.md").read_text()
