"""The manifest on the oldest version of Kubernetes that docs/install.md names, which the API server emulates."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from torpor_demo.kubectl import Kubectl
from torpor_dev import control_plane, versions

_MANIFEST = Path(__file__).parents[3] / "manifests/install.yaml"


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    yield Kubectl(control_plane.start(tmp_path / "plane", emulated=versions.OLDEST_KUBERNETES))
    control_plane.stop(tmp_path / "plane")


def test_the_oldest_kubernetes_accepts_every_object(kubectl: Kubectl) -> None:
    version = kubectl.run("get", "--raw", "/version")
    assert f'"emulationMinor": "{versions.OLDEST_KUBERNETES.partition(".")[2]}"' in version
    applied = kubectl.run("apply", "--server-side", "-f", _MANIFEST).splitlines()
    assert len(applied) == _MANIFEST.read_text().count("\nkind: ")
