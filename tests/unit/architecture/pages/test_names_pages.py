"""docs/reference has every label, annotation and finalizer of Torpor, and every public name of the SDK."""

from pathlib import Path

import pytest
import torpor
from torpor import triggers
from torpor_wire import constants

_FOLDER = Path(__file__).resolve().parents[4] / "docs/reference"
_NAMES = sorted(
    {value for value in vars(constants).values() if isinstance(value, str) and value.startswith("torpor.dev/")}
)


@pytest.mark.parametrize("name", [name for name in _NAMES if name != constants.API_VERSION])
def test_the_page_has_every_label_annotation_and_finalizer(name: str) -> None:
    assert f"`{name}`" in (_FOLDER / "labels.md").read_text()


@pytest.mark.parametrize("name", torpor.__all__)
def test_the_page_has_every_public_name_of_the_sdk(name: str) -> None:
    assert f"`{name}" in (_FOLDER / "sdk.md").read_text()


@pytest.mark.parametrize("name", triggers.__all__)
def test_the_pages_have_every_trigger_class(name: str) -> None:
    assert any(f"`{name}`" in (_FOLDER / page).read_text() for page in ("sdk.md", "triggers.md"))
