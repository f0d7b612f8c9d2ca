"""What manifests/components/archive-postgresql makes of the base: two replicas, a database of one's own, no volume."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

_MANIFESTS = Path(__file__).resolve().parents[3] / "manifests"

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")


@pytest.fixture
def built(tmp_path: Path) -> list[dict[str, Any]]:
    """A user's kustomization."""
    base, component = (
        os.path.relpath(_MANIFESTS / part, tmp_path) for part in ("base", "components/archive-postgresql")
    )
    (tmp_path / "kustomization.yaml").write_text(json.dumps({"resources": [base], "components": [component]}))
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def objects_of_kind(built: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in built if each["kind"] == kind and each["metadata"]["name"] == "torpor-archive"]


def test_the_archive_has_two_replicas_and_its_database_from_a_secret(built: list[dict[str, Any]]) -> None:
    (deployment,) = objects_of_kind(built, "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (2, "RollingUpdate")
    named = {"secretKeyRef": {"name": "torpor-archive-database", "key": "url"}}
    assert {"name": "DATABASE_URL", "valueFrom": named} in container["env"]
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_there_is_no_volume_left_of_it(built: list[dict[str, Any]]) -> None:
    (deployment,) = objects_of_kind(built, "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    assert objects_of_kind(built, "PersistentVolumeClaim") == []
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp"]
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == ["tmp"]


def test_one_of_the_two_stays_while_nodes_are_drained(built: list[dict[str, Any]]) -> None:
    (budget,) = objects_of_kind(built, "PodDisruptionBudget")
    (deployment,) = objects_of_kind(built, "Deployment")
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    assert budget["spec"]["maxUnavailable"] == 1


def test_the_rolling_update_defaults_are_owned_so_the_base_can_be_restored(
    built: list[dict[str, Any]],
) -> None:
    (deployment,) = objects_of_kind(built, "Deployment")
    # Left to the API server's defaults it stays when the base is applied again, and is refused beside its Recreate.
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
