"""Every right is explained, every pod of ours is restricted, and install.yaml is what the base builds to."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

_ROOT = Path(__file__).resolve().parents[3]
_ROW = re.compile(r"^\| (?P<groups>[^|]+) \| (?P<resources>[^|]+) \| (?P<verbs>[^|]+) \| (?P<why>[^|]+) \|$")


@cache
def installed() -> tuple[dict[str, Any], ...]:
    return tuple(yaml.safe_load_all((_ROOT / "manifests/install.yaml").read_text()))


def documents(*kinds: str) -> list[dict[str, Any]]:
    return [document for document in installed() if document["kind"] in kinds]


def rules() -> Iterator[tuple[str, str, str, str]]:
    """Each rule as the page writes it: role, groups, resources, verbs."""
    for role in documents("Role", "ClusterRole"):
        for rule in role.get("rules") or []:
            groups = ", ".join(group or "core" for group in rule["apiGroups"])
            names = f" ({', '.join(rule['resourceNames'])})" if "resourceNames" in rule else ""
            title = f"{role['kind']} {role['metadata']['name']}"
            yield title, groups, ", ".join(rule["resources"]) + names, ", ".join(rule["verbs"])


def explained() -> Iterator[tuple[str, str, str, str]]:
    title = ""
    for line in (_ROOT / "docs/rbac.md").read_text().splitlines():
        row = _ROW.match(line)
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif row and row["groups"] != "API group":
            yield title, row["groups"], row["resources"], row["verbs"]


def test_the_page_explains_every_rule_and_no_other() -> None:
    assert sorted(explained()) == sorted(rules())


def test_no_role_has_a_wildcard_or_reads_secrets_but_its_own() -> None:
    own = {"Role torpor-seal-default": "torpor-seal-default", "Role torpor-archive": "torpor-archive"}
    for role, groups, resources, verbs in rules():
        assert "*" not in groups + resources + verbs, role
        assert "secrets" not in resources or role in own, role
        assert "secrets" not in resources or resources == f"secrets ({own[role]})"


@pytest.mark.parametrize("name", ["torpor-operator", "torpor-triggerer", "torpor-archive"])
def test_our_own_pods_keep_to_pod_security_restricted(name: str) -> None:
    deployment = next(each for each in documents("Deployment") if each["metadata"]["name"] == name)
    pod = deployment["spec"]["template"]["spec"]
    restricted = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    volume = {"fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch"} if name == "torpor-archive" else {}
    assert pod["securityContext"] == restricted | volume
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert container["image"] == "torpor:dev"
    assert container["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_install_yaml_is_built_from_the_base() -> None:
    built = subprocess.run(
        ["kubectl", "kustomize", _ROOT / "manifests/base"], capture_output=True, text=True, check=True
    ).stdout
    assert [*installed()] == [*yaml.safe_load_all(built)], "run `make generate`"
