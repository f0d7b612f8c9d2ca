"""docs/archive.md explains every metric and every reason, and no other."""

import re
from pathlib import Path

from torpor_archive import errors
from torpor_archive.metrics import Metrics

_PAGE = (Path(__file__).resolve().parents[4] / "docs/archive.md").read_text()
_SUFFIX = {"counter": "_total", "gauge": "", "histogram": ""}


def test_the_page_explains_every_metric_with_its_kind() -> None:
    metrics = Metrics()
    metrics.watch_process()
    made = {(family.name + _SUFFIX[family.type], family.type) for family in metrics._registry.collect()}
    assert set(re.findall(r"^\| `(\w+)` \| (\w+) \|", _PAGE, re.MULTILINE)) == made


def test_the_page_explains_every_status_that_a_refusal_has() -> None:
    kinds = (
        errors.invalid,
        errors.unauthenticated,
        errors.forbidden,
        errors.not_found,
        errors.too_large,
        errors.out_of_range,
        errors.too_slow,
        errors.quota_exceeded,
    )
    for made in [kind("x") for kind in kinds]:
        assert f"| {made.reason} | {made.status} |" in _PAGE
