"""What manifests/components/pool makes of a name: one more pool that shares nothing with `default` but its making."""

import copy
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

_ROOT = Path(__file__).resolve().parents[3]
_COMPONENT = _ROOT / "manifests/components/pool"
_LABEL = "torpor.dev/trigger-pool"
_ROW = re.compile(
    r"^\| (?P<groups>[^|]+) \| (?P<resources>[^|]+) \| (?P<verbs>[^|]+) \| (?P<why>[^|]+) \|$", re.MULTILINE
)
Documents = list[dict[str, Any]]

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")


def build(folder: Path) -> Documents:
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def write(folder: Path, name: str) -> Path:
    """A user's kustomization."""
    folder.mkdir()
    pool = {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "TriggerPool",
        "metadata": {"name": name, "annotations": {"config.kubernetes.io/local-config": "true"}},
        "spec": {"image": "tides:1", "triggers": "tide=tides:Tide moon=tides.moon:Moon"},
    }
    (folder / "pool.yaml").write_text(json.dumps(pool))
    component = os.path.relpath(_COMPONENT, folder)
    (folder / "kustomization.yaml").write_text(json.dumps({"resources": ["pool.yaml"], "components": [component]}))
    return folder


def ids(documents: Documents) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in documents}


def find_object(documents: Documents, kind: str) -> dict[str, Any]:
    return next(each for each in documents if each["kind"] == kind)


def texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from (text for pair in value.items() for part in pair for text in texts(part))
        case list():
            yield from (text for part in value for text in texts(part))
        case str():
            yield value
        case _:
            pass


@pytest.fixture
def pool(tmp_path: Path) -> Documents:
    return build(write(tmp_path / "pool", "far-tides"))


@pytest.fixture
def default() -> Documents:
    return [each for each in build(_ROOT / "manifests/base") if _LABEL in each["metadata"].get("labels", {})]


def test_a_pool_has_all_that_the_default_one_has_under_names_of_its_own(pool: Documents, default: Documents) -> None:
    assert [each["kind"] for each in pool] == [each["kind"] for each in default]
    assert ids(pool).isdisjoint(ids(build(_ROOT / "manifests/base")))
    assert {each["metadata"]["labels"][_LABEL] for each in pool} == {"far-tides"}


def test_nothing_of_a_pool_names_the_default_one(pool: Documents) -> None:
    assert [text for each in pool for text in texts(each) if re.search(r"\bdefault\b", text)] == []


def test_it_may_fire_what_waits_in_it_and_in_no_other(pool: Documents) -> None:
    assert find_object(pool, "ClusterRole")["rules"] == [
        {"apiGroups": ["torpor.dev"], "resources": ["triggerpools"], "resourceNames": ["far-tides"], "verbs": ["fire"]}
    ]


def test_its_rights_are_its_own_service_accounts_and_no_others(pool: Documents) -> None:
    account = find_object(pool, "ServiceAccount")["metadata"]["name"]
    assert find_object(pool, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account
    bindings = [each for each in pool if each["kind"].endswith("Binding")]
    assert {subject["name"] for each in bindings for subject in each["subjects"]} == {account}
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings} == {
        ("ClusterRole", "torpor-triggerer"),
        ("ClusterRole", "torpor-triggerer-pool-far-tides"),
        ("Role", "torpor-triggerer"),
        ("Role", "torpor-seal-far-tides"),
    }


def test_its_pods_differ_by_name_image_and_trigger_classes_only(pool: Documents, default: Documents) -> None:
    """Settings, probes and security cannot drift apart: undoing the three changes gives the default pool's spec."""
    spec = copy.deepcopy(find_object(pool, "Deployment")["spec"])
    (container,) = spec["template"]["spec"]["containers"]
    assert container["args"][:2] == ["--pool", "far-tides"]
    assert container["image"] == "tides:1"
    classes = {"name": "TORPOR_TRIGGERS", "value": "tide=tides:Tide moon=tides.moon:Moon"}
    assert classes in container["env"]

    container["args"][1], container["image"] = "default", "torpor:dev"
    container["env"].remove(classes)
    undone = json.loads(
        json.dumps(spec).replace("triggerer-far-tides", "triggerer").replace('"far-tides"', '"default"')
    )
    assert undone == find_object(default, "Deployment")["spec"]


def test_no_deployment_selects_anothers_pods(pool: Documents, default: Documents) -> None:
    def selected(selecting: Documents, other: Documents) -> bool:
        wanted = find_object(selecting, "Deployment")["spec"]["selector"]["matchLabels"]
        return bool(
            wanted.items() <= find_object(other, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
        )

    assert selected(pool, pool)
    assert not selected(pool, default)
    assert not selected(default, pool)


def test_a_disruption_budget_covers_its_own_pools_pods_and_no_others(pool: Documents, default: Documents) -> None:
    for mine, others in ((pool, default), (default, pool)):
        budget = find_object(mine, "PodDisruptionBudget")["spec"]
        selected = budget["selector"]["matchLabels"].items()
        assert selected <= find_object(mine, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
        assert not selected <= find_object(others, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
        assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_a_pools_pods_spread_over_nodes_and_zones_each_pool_by_itself(pool: Documents, default: Documents) -> None:
    for documents in (pool, default):
        template = find_object(documents, "Deployment")["spec"]["template"]
        spread = template["spec"]["topologySpreadConstraints"]
        assert [each["topologyKey"] for each in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
        own = {"app.kubernetes.io/component": template["metadata"]["labels"]["app.kubernetes.io/component"]}
        assert all(own.items() <= each["labelSelector"]["matchLabels"].items() for each in spread)


def test_one_kustomization_can_have_two_pools(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, name).name for name in ("near", "far")]
    (tmp_path / "kustomization.yaml").write_text(json.dumps({"resources": folders}))
    documents = build(tmp_path)
    names = {each["metadata"]["name"] for each in documents if each["kind"] == "Deployment"}
    assert names == {"torpor-triggerer-near", "torpor-triggerer-far"}
    assert "TriggerPool" not in {each["kind"] for each in documents}


def test_the_examples_pool_builds_and_names_a_class_that_exists() -> None:
    container = find_object(build(_ROOT / "examples/own-trigger/pool"), "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]
    (classes,) = [each["value"] for each in container["env"] if each["name"] == "TORPOR_TRIGGERS"]
    assert classes == "resolves=own_trigger.dns:Resolves"
    assert callable(__import__("own_trigger.dns", fromlist=["Resolves"]).Resolves.run)


def test_the_page_explains_every_rule_that_a_pool_brings(pool: Documents) -> None:
    page = (_ROOT / "docs/reference/rbac.md").read_text().partition("\n## Pools\n")[2].partition("\n## ")[0]
    page = page.replace("*name*", "far-tides")
    explained = [row.group("groups", "resources", "verbs") for row in _ROW.finditer(page) if "API group" not in row[0]]
    rules = [rule for each in pool if each["kind"] in {"Role", "ClusterRole"} for rule in each["rules"]]
    assert sorted(explained) == sorted(_words(rule) for rule in rules)


def _words(rule: dict[str, list[str]]) -> tuple[str, str, str]:
    names = f" ({', '.join(rule['resourceNames'])})" if "resourceNames" in rule else ""
    groups = ", ".join(group or "core" for group in rule["apiGroups"])
    return groups, ", ".join(rule["resources"]) + names, ", ".join(rule["verbs"])


def test_the_pool_of_the_airflow_bridge_has_its_memory_and_its_rights() -> None:
    """A patch of its own must name what the component has renamed."""
    built = build(_ROOT / "airflow-bridge/pool")
    deployment = find_object(built, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert deployment["metadata"]["name"] == "torpor-triggerer-airflow"
    assert (container["image"], container["resources"]["limits"]["memory"]) == ("torpor-airflow:dev", "1Gi")
    names = {"torpor-triggerer-airflow-schedules", "torpor-triggerer-pool-airflow", "torpor-triggerer-airflow"}
    assert {each["metadata"]["name"] for each in built if each["kind"] == "ClusterRoleBinding"} >= names
    (watch,) = [each for each in built if each["kind"] == "ClusterRole" and "schedules" in each["metadata"]["name"]]
    assert watch["rules"] == [{"apiGroups": ["torpor.dev"], "resources": ["schedules"], "verbs": ["list", "watch"]}]


FAMILIES = sorted((_ROOT / "airflow-bridge/pool/families").iterdir())


def test_the_pools_of_families_are_those_of_their_table() -> None:
    specification = importlib.util.spec_from_file_location("pool_families", _ROOT / "airflow-bridge/pool_families.py")
    assert specification is not None
    assert specification.loader is not None
    written = importlib.util.module_from_spec(specification)
    sys.modules["pool_families"] = written  # its dataclass looks for its module
    specification.loader.exec_module(written)
    assert {path: path.read_text() for path in written.files()} == written.files()
    assert [each.name for each in FAMILIES] == [each.name for each in written.FAMILIES]


@pytest.mark.parametrize("folder", FAMILIES, ids=lambda folder: folder.name)
def test_the_pool_of_a_family_has_an_image_and_a_limit_of_its_own(folder: Path) -> None:
    deployment = find_object(build(folder), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert deployment["metadata"]["name"] == f"torpor-triggerer-airflow-{folder.name}"
    assert container["image"] == f"torpor-airflow-{folder.name}:dev"
    assert container["resources"]["limits"]["memory"].endswith("Mi")
