"""A registry for the images of these tests, and keys that sign them."""

from collections.abc import Iterator

import pytest

from tests.integration.release import pushed_images
from tests.integration.release.pushed_images import SigningKeys


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry on this machine, and the path in it."""
    with pushed_images.serving(tmp_path_factory.mktemp("registry")) as path:
        yield path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> SigningKeys:
    """The key pair whose signatures count."""
    return pushed_images.key_pair(tmp_path_factory.mktemp("keys"))


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """The password of the keys, where cosign reads it."""
    monkeypatch.setenv("COSIGN_PASSWORD", pushed_images.PASSWORD)
