"""Every right is explained, every pod of ours is restricted, and install.yaml is what the base builds to."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_kubernetes.process_settings import ARCHIVE_TOKEN_FILE
from torpor_wire import constants

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
    for line in (_ROOT / "docs/reference/rbac.md").read_text().splitlines():
        row = _ROW.match(line)
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif row and row["groups"] != "API group" and title != "Pools":
            yield title, row["groups"], row["resources"], row["verbs"]


def test_the_page_explains_every_rule_and_no_other() -> None:
    assert sorted(explained()) == sorted(rules())


def test_no_role_has_a_wildcard_or_reads_secrets_but_its_own() -> None:
    own = {"Role torpor-seal-default": "torpor-seal-default", "Role torpor-archive": "torpor-archive"}
    for role, groups, resources, verbs in rules():
        assert "*" not in groups + resources + verbs, role
        assert "secrets" not in resources or role in own, role
        assert "secrets" not in resources or resources == f"secrets ({own[role]})"


def test_every_user_reaches_the_archive_through_the_proxy_and_nothing_else() -> None:
    bound = [
        each["roleRef"]["name"]
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for each in documents(kind)
        if any(subject["name"] == "system:authenticated" for subject in each["subjects"])
    ]
    assert bound == ["torpor-archive-reader"]
    granted = {rule[2:] for rule in rules() if rule[0] == "Role torpor-archive-reader"}
    assert granted == {
        ("configmaps (torpor-archive)", "get"),
        ("services/proxy (https:torpor-archive:8443)", "get"),
    }


@pytest.mark.parametrize("name", ["torpor-operator", "torpor-triggerer"])
def test_the_archive_gets_a_token_that_the_api_server_refuses(name: str) -> None:
    deployment = next(each for each in documents("Deployment") if each["metadata"]["name"] == name)
    pod = deployment["spec"]["template"]["spec"]
    (volume,) = (each for each in pod["volumes"] if each["name"] == "archive-token")
    (source,) = volume["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == constants.ARCHIVE_AUDIENCE
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "archive-token")
    assert f"{mount['mountPath']}/{source['serviceAccountToken']['path']}" == ARCHIVE_TOKEN_FILE


def test_the_reader_of_a_namespace_may_do_no_more_than_view() -> None:
    granted = {rule[1:] for rule in rules() if rule[0] == "ClusterRole torpor-archive-reader-namespace"}
    assert granted == {("torpor.dev", "workflows, taskruns", "get, list"), ("core", "pods/log", "get")}


@pytest.mark.parametrize("name", ["torpor-operator", "torpor-triggerer", "torpor-archive"])
def test_our_own_pods_keep_to_pod_security_restricted(name: str) -> None:
    deployment = next(each for each in documents("Deployment") if each["metadata"]["name"] == name)
    pod = deployment["spec"]["template"]["spec"]
    restricted = {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
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


@pytest.mark.parametrize("name", ["torpor-operator", "torpor-triggerer", "torpor-archive"])
def test_cluster_wide_rights_of_a_component_change_only_torpors_objects(name: str) -> None:
    reads = {"get", "list", "watch"}
    reviews = {"subjectaccessreviews", "selfsubjectaccessreviews", "tokenreviews"}
    for role, groups, resources, verbs in rules():
        if role == f"ClusterRole {name}" and groups != "torpor.dev" and not set(resources.split(", ")) <= reviews:
            assert set(verbs.split(", ")) <= reads, f"{resources}: {verbs}"
            assert not {"secrets", "configmaps", "events"} & set(resources.split(", "))


def test_only_the_archive_and_metrics_accept_connections() -> None:
    policies = {document["metadata"]["name"]: document["spec"] for document in documents("NetworkPolicy")}
    assert set(policies) == {"torpor", "torpor-archive", "torpor-metrics"}
    ours = policies["torpor"]
    assert (ours["policyTypes"], ours.get("ingress")) == (["Ingress"], None)
    for deployment in documents("Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"].items()
        assert ours["podSelector"]["matchLabels"].items() <= labels, deployment["metadata"]["name"]
    (archive,) = policies["torpor-archive"]["ingress"]
    assert [port["port"] for port in archive["ports"]] == ["archive"]
    assert "from" not in archive  # readers come through the API server, whose address no policy can name
    (metrics,) = policies["torpor-metrics"]["ingress"]
    assert [port["port"] for port in metrics["ports"]] == ["health", "metrics"]
    assert metrics["from"] == [{"namespaceSelector": {"matchLabels": {"torpor.dev/metrics": "true"}}}]


def test_task_pods_are_reached_from_their_own_namespace_only() -> None:
    policy = yaml.safe_load((_ROOT / "manifests/namespace/network-policy.yaml").read_text())["spec"]
    assert policy["podSelector"]["matchExpressions"] == [{"key": constants.LABEL_TASKRUN_UID, "operator": "Exists"}]
    assert policy["policyTypes"] == ["Ingress"]
    assert policy["ingress"] == [{"from": [{"podSelector": {}}]}]


def test_the_triggerer_gets_its_own_addresses() -> None:
    triggerer = next(
        document for document in documents("Deployment") if document["metadata"]["name"] == "torpor-triggerer"
    )
    (container,) = triggerer["spec"]["template"]["spec"]["containers"]
    paths = {variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"] for variable in container["env"]}
    assert (paths["POD_IPS"], paths["HOST_IPS"]) == ("status.podIPs", "status.hostIPs")


def test_our_own_pods_go_before_others_by_a_priority_class_of_our_own() -> None:
    (priority,) = documents("PriorityClass")
    assert priority["metadata"]["name"] == "torpor-controller"
    assert not priority.get("globalDefault")
    assert priority["value"] < 2_000_000_000, "what is above is the cluster's own"
    for deployment in documents("Deployment"):
        assert deployment["spec"]["template"]["spec"]["priorityClassName"] == "torpor-controller"


def test_a_set_up_namespace_lets_the_operator_create_objects_only_there() -> None:
    (binding,) = yaml.safe_load_all((_ROOT / "manifests/namespace/operator.yaml").read_text())
    assert binding["roleRef"]["name"] == "torpor-operator-namespace"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "torpor-operator", "namespace": "torpor-system"}]
    everywhere = {bound["roleRef"]["name"] for bound in documents("ClusterRoleBinding")}
    assert "torpor-operator-namespace" not in everywhere
    creates = {
        (role, resources)
        for role, _, resources, verbs in rules()
        if role.startswith("ClusterRole torpor-operator") and "create" in verbs
    }
    assert creates == {
        ("ClusterRole torpor-operator-namespace", "taskruns, workflows"),
        ("ClusterRole torpor-operator-namespace", "pods"),
        ("ClusterRole torpor-operator-namespace", "persistentvolumeclaims"),
        ("ClusterRole torpor-operator-namespace", "events"),
        ("ClusterRole torpor-operator-confined", "leases"),
    }


def _built(folder: Path, **kustomization: Any) -> list[dict[str, Any]]:
    """What kustomize makes of folders of manifests, given relative to it."""
    named = {
        key: [os.path.relpath(_ROOT / "manifests" / each, folder.resolve()) for each in folders]
        for key, folders in kustomization.items()
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(named))
    built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True)
    return [*yaml.safe_load_all(built.stdout)]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_a_confined_installation_has_cluster_wide_rights_to_reviews_only(tmp_path: Path) -> None:
    documents = _built(tmp_path, resources=["base"], components=["components/confined"])
    bound = {binding["metadata"]["name"] for binding in documents if binding["kind"] == "ClusterRoleBinding"}
    assert bound == {"torpor-reviews"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_a_confined_namespace_binds_what_the_base_binds_in_all_namespaces(tmp_path: Path) -> None:
    built = _built(tmp_path, resources=["namespace"], components=["components/confined-namespace"])
    bound = {binding["roleRef"]["name"] for binding in built if binding["kind"] == "RoleBinding"}
    everywhere = {document["roleRef"]["name"] for document in documents("ClusterRoleBinding")} - {"view"}
    assert {name for name in everywhere if name.startswith("torpor-")} <= bound


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_one_component_pins_every_image_of_an_installation_by_its_digest(tmp_path: Path) -> None:
    documents = _built(tmp_path, resources=["base"], components=["components/digests"])
    images = {
        container["image"]
        for document in documents
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"registry.example.org/torpor@sha256:{'0' * 64}"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_the_example_of_a_quota_counts_the_taskruns_of_a_namespace(tmp_path: Path) -> None:
    documents = _built(tmp_path, resources=["namespace"], components=["components/quota"])
    (quota,) = [each for each in documents if each["kind"] == "ResourceQuota" and each["metadata"]["name"] == "torpor"]
    assert {"count/taskruns.torpor.dev", "count/workflows.torpor.dev", "count/pods"} <= quota["spec"]["hard"].keys()


def test_a_namespace_whose_params_are_checked_has_a_quota_of_templates() -> None:
    folder = _ROOT / "manifests/namespace"
    labels = yaml.safe_load((folder / "namespace.yaml").read_text())["metadata"]["labels"]
    (binding,) = (
        each for each in documents("ValidatingAdmissionPolicyBinding") if each["metadata"]["name"] == "torpor-params"
    )
    assert binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"].items() <= labels.items()
    assert "template-quota.yaml" in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    quota = yaml.safe_load((folder / "template-quota.yaml").read_text())
    assert int(quota["spec"]["hard"]["count/workflowtemplates.torpor.dev"]) <= 100


def test_uv_is_installed_by_the_hashes_of_one_version_and_in_no_other_way() -> None:
    pinned = (_ROOT / "dev/uv.txt").read_text()
    assert len(re.findall(r"^uv==[0-9.]+ ", pinned, re.MULTILINE)) == 1
    assert re.findall(r"--hash=sha256:[0-9a-f]{64}", pinned)
    for file in ("Dockerfile", "dev/uv.sh"):
        text = (_ROOT / file).read_text()
        assert "--require-hashes" in text, file
        assert re.search(r"install[^\n]*uv[=<>]", text) is None, file


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")
def test_install_yaml_is_built_from_the_base() -> None:
    built = subprocess.run(
        ["kubectl", "kustomize", _ROOT / "manifests/base"], capture_output=True, text=True, check=True
    ).stdout
    assert [*installed()] == [*yaml.safe_load_all(built)], "run `make generate`"
