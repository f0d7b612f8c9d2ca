"""docs/reference/settings.md has every reason of a refused request."""

from pathlib import Path

from torpor_archive import errors

_PAGE = (Path(__file__).resolve().parents[4] / "docs/reference/settings.md").read_text()


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
