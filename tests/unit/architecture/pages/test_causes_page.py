"""docs/how-to/find-out-why.md explains every cause there is, and no other."""

import re
from pathlib import Path

from torpor_views.why import CauseKind

_PAGE = Path(__file__).resolve().parents[4] / "docs/how-to/find-out-why.md"
_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def test_the_page_explains_every_cause_and_no_other() -> None:
    rows = [row for row in _ROW.findall(_PAGE.read_text()) if row != "kind"]
    assert sorted(rows) == sorted(str(kind) for kind in CauseKind)
