"""docs/reference/reasons.md explains every reason there is, and no other."""

import re
from pathlib import Path

from torpor_expressions import errors
from torpor_wire.reason import Reason

_PAGE = Path(__file__).resolve().parents[4] / "docs/reference/reasons.md"
_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def test_the_page_explains_every_reason_and_no_other() -> None:
    assert set(_ROW.findall(_PAGE.read_text())) == {str(reason) for reason in Reason}


def test_what_expressions_call_their_errors_is_on_the_one_list() -> None:
    assert {str(reason) for reason in errors.ExpressionReason} <= {str(reason) for reason in Reason}
