"""torpor lint and torpor doctor as processes; doctor against the installation, as an administrator and as a viewer."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_demo.install import prepare
from torpor_demo.kubectl import Kubectl

from tests.e2e.support.rights import bind

_ROOT = Path(__file__).resolve().parents[3]
_BIN = Path(sys.executable).parent
_LIMIT_S = 180.0
_BAD = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: bad}
spec:
  tasks:
  - name: a
    trigger: {class: http, kwargs: {urll: x}}
    after: [b]
"""


def torpor(*words: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """A command that ended."""
    command = [str(_BIN / "torpor"), *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=_LIMIT_S, check=False)


def checks(*words: str | Path) -> dict[str, list[dict[str, str]]]:
    """What doctor says, by check."""
    ended = torpor("doctor", "-o", "json", *words)
    assert ended.returncode in {0, 1}, ended.stderr
    checks: dict[str, list[dict[str, str]]] = {}
    for check in json.loads(ended.stdout)["checks"]:
        checks.setdefault(check["check"], []).append(check)
    return checks


@pytest.fixture
def team(kubectl: Kubectl) -> Iterator[str]:
    """A namespace that is set up for workflows."""
    name = f"e2e-doctor-{uuid.uuid4().hex[:8]}"
    prepare(kubectl, name)
    yield name
    kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def viewer(kubectl: Kubectl, team: str, tmp_path: Path) -> Path:
    """A kubeconfig of an account with ClusterRole view in the namespace."""
    kubectl.run("-n", team, "create", "serviceaccount", "viewer")
    bind(kubectl, team, "view", user=f"system:serviceaccount:{team}:viewer", name="viewer")
    config: dict[str, Any] = yaml.safe_load(Path(kubectl.kubeconfig).read_text())
    token = kubectl.run("-n", team, "create", "token", "viewer").strip()
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_lint_accepts_what_kustomize_renders(kubectl: Kubectl) -> None:
    rendered = kubectl.run("kustomize", _ROOT / "examples" / "groups")
    ended = torpor("lint", "-", stdin=rendered)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "0 errors, 0 warnings" in ended.stderr


def test_lint_reports_each_mistake_with_its_place() -> None:
    ended = torpor("lint", "-", stdin=_BAD)
    assert ended.returncode == 1
    assert [line.split(" ")[:2] for line in ended.stdout.splitlines()] == [
        ["<stdin>:7:37:", "error:"],
        ["<stdin>:8:5:", "error:"],
    ]


def test_doctor_finds_a_good_installation_good(kubectl: Kubectl, team: str) -> None:
    checks_by_name = checks("--kubeconfig", kubectl.kubeconfig, "-n", team)
    good = ("kubernetes", "crds", "policies", "roles", "operator", "archive", "leader", "reach", "namespace", "rights")
    assert [item for check in good for item in checks_by_name[check] if item["status"] != "ok"] == []
    assert "pool default: 2 live triggerers" in [pool["message"] for pool in checks_by_name["pools"]]
    assert all(
        result.get("action") for results in checks_by_name.values() for result in results if result["status"] != "ok"
    )


def test_doctor_finds_a_namespace_that_is_not_set_up(kubectl: Kubectl, team: str) -> None:
    kubectl.run("-n", team, "delete", "rolebinding", "torpor-operator")
    ended = torpor("--kubeconfig", kubectl.kubeconfig, "doctor", "-n", team)
    assert ended.returncode == 1
    assert f"namespace {team} does not bind ClusterRole torpor-operator-namespace" in ended.stdout
    assert (
        f"> kubectl -n {team} create rolebinding torpor-operator --clusterrole=torpor-operator-namespace"
        in ended.stdout
    )


def test_doctor_works_for_a_viewer_and_names_the_rights_that_are_missing(viewer: Path, team: str) -> None:
    checks_by_name = checks("--kubeconfig", viewer, "-n", team)
    assert [
        item["status"] for check in ("crds", "rights", "finalizers", "reach") for item in checks_by_name[check]
    ] == ["ok"] * 4
    (leader,) = checks_by_name["leader"]
    assert (leader["status"], leader["message"]) == ("unknown", "you may not list leases in torpor-system")
