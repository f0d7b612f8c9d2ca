"""docs/design/architecture.md names every layer of every package."""

from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[4]
_PACKAGES = (
    "archive/torpor_archive",
    "crds/torpor_crds",
    "libraries/kubernetes/torpor_kubernetes",
    "operator/torpor_operator",
    "triggerer/torpor_triggerer",
    "worker-image/torpor",
)
LAYERS = [
    layer
    for package in _PACKAGES
    for layer in sorted(path.name for path in (_ROOT / package).iterdir() if (path / "__init__.py").is_file())
]


@pytest.mark.parametrize("layer", LAYERS)
def test_the_page_names_every_layer(layer: str) -> None:
    assert f"`{layer}`" in (_ROOT / "docs/design/architecture.md").read_text()
