"""Values of the chart: what each changes, and which are refused with a message that says what to do."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from torpor_chart import chart

from tests.support.chart import helm

SCHEMA = json.loads((chart.SOURCE / "values.schema.json").read_text())
DIGEST = f"sha256:{'a' * 64}"


def deployment(name: str, values: Mapping[str, Any], namespace: str = "torpor-system") -> dict[str, Any]:
    found = [
        body
        for body in helm.rendered(values, namespace=namespace)
        if (body["kind"], body["metadata"]["name"]) == ("Deployment", name)
    ]
    (body,) = found
    assert isinstance(body, dict)
    return body


def test_images_are_named_by_tag_and_digest() -> None:
    image = {"repository": "registry.example.org/team/torpor", "tag": "1.0", "digest": DIGEST}
    runtime = {"repository": "registry.example.org/team/torpor-runtime", "tag": "1.0"}
    pod = deployment("torpor-operator", {"image": image, "runtimeImage": runtime})["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == f"registry.example.org/team/torpor:1.0@{DIGEST}"
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["RUNTIME_IMAGE"] == "registry.example.org/team/torpor-runtime:1.0"


def test_the_fields_of_pods_are_those_of_the_values() -> None:
    own = {
        "replicas": 3,
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
        "args": ["--task-memory-limit=2Gi"],
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.org"}],
        "podLabels": {"team": "data"},
        "podAnnotations": {"example.org/scrape": "true"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    values = {"operator": own, "imagePullSecrets": [{"name": "registry"}], "priorityClassName": ""}
    spec = deployment("torpor-operator", values)["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["replicas"] == 3
    assert container["resources"]["requests"] == {"cpu": 1, "memory": "1Gi"}
    assert container["args"] == own["args"]
    assert own["env"] == container["env"][-1:]
    assert spec["template"]["metadata"]["labels"].items() >= {("team", "data")}
    assert spec["template"]["metadata"]["annotations"].items() >= {("example.org/scrape", "true")}
    for field in ("nodeSelector", "tolerations", "affinity"):
        assert pod[field] == own[field]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert "priorityClassName" not in pod


def test_an_object_store_is_an_argument_of_the_archive() -> None:
    values = {"archive": {"objects": "s3://bucket/torpor", "args": ["--keep=30d"]}}
    (container,) = deployment("torpor-archive", values)["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["--objects=s3://bucket/torpor", "--keep=30d"]


def test_objects_of_the_cluster_are_absent_where_an_administrator_has_them() -> None:
    values = {"watchNamespaces": ["team-a"], "crds": {"install": False}}
    values |= {"cluster": {"install": False, "reviews": False}, "networkPolicies": {"enabled": False}}
    bodies = helm.rendered(values, namespace="torpor-b")
    assert {body["metadata"].get("namespace") for body in bodies} == {"torpor-b", "team-a"}
    kinds = {body["kind"] for body in bodies if body["metadata"]["namespace"] == "torpor-b"}
    assert "NetworkPolicy" not in kinds


def test_two_installations_share_no_name_in_the_cluster() -> None:
    names = [
        {
            body["metadata"]["name"]
            for body in helm.rendered({"watchNamespaces": [f"team-{name}"]}, namespace=f"torpor-{name}")
            if body["kind"] == "ClusterRoleBinding"
        }
        for name in ("a", "b")
    ]
    assert names[0] == {"torpor-reviews-torpor-a"}
    assert names[0].isdisjoint(names[1])


def test_a_namespace_whose_name_is_a_number_stays_text() -> None:
    values = {"watchNamespaces": ["2026"]}
    assert "2026" in {body["metadata"].get("namespace") for body in helm.rendered(values)}


REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a name that does not exist": ({"operators": {}}, "additional properties 'operators' not allowed"),
    "a misspelt field": ({"operator": {"replica": 2}}, "additional properties 'replica' not allowed"),
    "a text for a number": ({"operator": {"replicas": "2"}}, "/operator/replicas"),
    "no operator": ({"operator": {"replicas": 0}}, "/operator/replicas"),
    "a number for a tag": ({"image": {"tag": 1.0}}, "/image/tag"),
    "a short digest": ({"image": {"digest": "sha256:abc"}}, "/image/digest"),
    "a pull policy of another name": ({"image": {"pullPolicy": "always"}}, "/image/pullPolicy"),
    "a namespace in capitals": ({"watchNamespaces": ["Team"]}, "/watchNamespaces/0"),
    "a namespace twice": ({"watchNamespaces": ["team", "team"]}, "/watchNamespaces"),
    "one text for a list": ({"watchNamespaces": "team-a,team-b"}, "/watchNamespaces"),
    "a second pool default": ({"pools": [{"name": "default", "image": "a:1", "triggers": ["a=b:C"]}]}, "/pools/0/name"),
    "a pool without an image": ({"pools": [{"name": "own", "triggers": ["a=b:C"]}]}, "missing property 'image'"),
    "a store without a scheme": ({"archive": {"objects": "bucket"}}, "/archive/objects"),
    "a size without a unit": ({"archive": {"storage": {"size": "10 GB"}}}, "/archive/storage/size"),
    "a quantity of another unit": (
        {"operator": {"resources": {"limits": {"memory": "512MB"}}}},
        "/operator/resources/limits/memory",
    ),
    "the namespace of the release": ({"watchNamespaces": ["torpor-system"]}, "is that of the release"),
    "a namespace that is not watched": (
        {"watchNamespaces": ["team-a"], "namespaces": ["team-b"]},
        "Torpor would not serve it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_do_not_fit_are_refused_with_their_place(case: str) -> None:
    values, message = REFUSED[case]
    done = helm.template(values)
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.attack
@pytest.mark.parametrize("value", ["team\n  - injected", "{{ .Values }}", 'a"b', "a: b"])
def test_a_value_cannot_add_fields_to_the_objects(value: str) -> None:
    assert helm.template({"watchNamespaces": [value]}).returncode != 0
    plain = deployment("torpor-operator", {})
    hostile = deployment("torpor-operator", {"operator": {"args": [value]}, "priorityClassName": value})
    pod = hostile["spec"]["template"]["spec"]
    assert pod["containers"][0].pop("args") == [value]
    assert pod.pop("priorityClassName") == value
    del plain["spec"]["template"]["spec"]["priorityClassName"]
    assert hostile == plain


def test_each_value_has_a_description_and_a_default_that_fits() -> None:
    values = yaml.safe_load((chart.SOURCE / "values.yaml").read_text())
    described = dict(_paths(SCHEMA))
    assert all(described.values()), [path for path, text in described.items() if not text]
    optional = {path for path in described if path.startswith(("global", "pools."))}
    assert set(_leaves(values, set(described))) == set(described) - optional


def _paths(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, child in schema.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        yield at, child.get("description", "")
        yield from _paths(child.get("items", child), at)


def _leaves(values: Mapping[str, Any], described: set[str], path: str = "") -> Iterator[str]:
    for name, child in values.items():
        at = f"{path}.{name}" if path else name
        yield at
        if isinstance(child, Mapping) and any(each.startswith(f"{at}.") for each in described):
            yield from _leaves(child, described, at)
