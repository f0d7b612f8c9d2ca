"""The links of pages that are not in the site; `make docs` checks all others."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[4]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


@pytest.mark.parametrize("page", ["README.md", "worker-image/README.md"])
def test_every_link_leads_to_a_file(page: str) -> None:
    path = _ROOT / page
    links = _LINK.findall(path.read_text())
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []
