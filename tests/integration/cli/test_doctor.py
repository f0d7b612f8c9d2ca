"""`torpor doctor` against a real API server without Torpor's processes, as an administrator and as a viewer."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.__main__ import main
from torpor_cli.linting import bundled

from tests.integration.conftest import Server

_NEEDS_MORE = {"policies", "roles", "components", "leader", "pools", "clock", "network", "namespace", "finalizers"}


def diagnosed(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code and the results by check."""
    code = main(["doctor", "-o", "json", *map(str, arguments)])
    by_check: dict[str, list[dict[str, Any]]] = {}
    for check in json.loads(capsys.readouterr().out)["checks"]:
        by_check.setdefault(check["check"], []).append(check)
    return code, by_check


def statuses(by_check: dict[str, list[dict[str, Any]]]) -> dict[str, set[str]]:
    return {check: {result["status"] for result in results} for check, results in by_check.items()}


@pytest.fixture
def viewer(server: Server, kubeconfig: Path, namespace: str, tmp_path: Path) -> Path:
    """A kubeconfig of a ServiceAccount that has ClusterRole view in the namespace."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer", "namespace": namespace}}
    server.apply(account)
    server.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "viewer", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
        }
    )
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"] = [
        {"name": user["name"], "user": {"token": server.token(namespace, "viewer")}} for user in config["users"]
    ]
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_an_administrator_learns_that_nothing_runs(
    kubeconfig: Path, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, checks = diagnosed(capsys, "--kubeconfig", kubeconfig, "-n", namespace)
    by_check = statuses(checks)
    assert code == 1
    assert {check: by_check[check] for check in ("kubernetes", "crds", "policies", "roles", "rights")} == {
        "kubernetes": {"ok"},
        "crds": {"ok"},
        "policies": {"ok"},
        "roles": {"ok"},
        "rights": {"ok"},
    }
    assert by_check["operator"] == by_check["leader"] == {"failed"}
    assert checks["leader"][0]["action"]


def test_a_missing_binding_of_a_policy_is_found(
    server: Server,
    kubeconfig: Path,
    namespace: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a policy of its own: other tests need those of Torpor meanwhile."""
    known, path = bundled.policies(), "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    policy = known[0] | {"metadata": {"name": f"unbound-{uuid.uuid4().hex[:8]}"}}
    name = policy["metadata"]["name"]
    monkeypatch.setattr(bundled, "policies", lambda: (*known, policy))
    server.apply(policy)
    try:
        _, checks = diagnosed(capsys, "--kubeconfig", kubeconfig, "-n", namespace)
    finally:
        server.request("DELETE", f"{path}/{name}").expect(200)
    (result,) = checks["policies"]
    assert (result["status"], result["message"]) == ("failed", f"without a binding that denies: {name}")


def test_a_viewer_gets_the_rest_as_unknown_with_the_right_that_is_needed(
    viewer: Path, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, checks = diagnosed(capsys, "--kubeconfig", viewer, "-n", namespace)
    by_check = statuses(checks)
    assert {check for check, status in by_check.items() if "unknown" in status} <= _NEEDS_MORE
    assert by_check["crds"] == by_check["rights"] == {"ok"}
    assert checks["policies"][0]["message"] == "you may not list validatingadmissionpolicies"
    assert "not change them" in checks["rights"][0]["message"]
    assert by_check["finalizers"] == {"ok"}


def test_a_cluster_that_does_not_answer_is_one_line(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    assert main(["doctor", "--kubeconfig", str(path)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "no response from https://127.0.0.1:9" in err
