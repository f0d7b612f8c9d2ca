"""The chart and the kustomizations install the same objects: both are rendered, and compared."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from torpor_chart import renders
from torpor_chart.fields import is_kept
from torpor_chart.template_text import NAMESPACE, POOL

from tests.support.chart import helm

_RETENTION = ("helm.sh/resource-policy", "argocd.argoproj.io/sync-options")
_VERSION = "app.kubernetes.io/version"
_TEAM = "team-a"

Objects = dict[tuple[str, str, str], Any]

CHOICES: Mapping[str, Mapping[str, Any]] = {
    "archive-postgresql": {"archive": {"postgresql": {"enabled": True}}},
    "autoscaling": {"triggerer": {"autoscaling": {"enabled": True}}},
    "monitoring": {"monitoring": {"enabled": True}},
    "ui": {"ui": {"enabled": True}},
}
"""The values that select a component."""


def by_key(bodies: Iterable[Mapping[str, Any]]) -> Objects:
    return {
        (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]): _plain(dict(body))
        for body in bodies
        if body["kind"] != "Namespace"  # `helm install --create-namespace` creates it
    }


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """An object without what only the chart adds."""
    metadata = dict(body["metadata"])
    for field, names in (("labels", (_VERSION,)), ("annotations", _RETENTION)):
        kept = {name: value for name, value in (metadata.get(field) or {}).items() if name not in names}
        metadata = {
            **{key: value for key, value in metadata.items() if key != field},
            **({field: kept} if kept else {}),
        }
    if body["kind"] == "ValidatingAdmissionPolicy" and metadata["name"] == "torpor-lease":
        # `--create-namespace` sets no label, so the chart selects the namespace by name.
        constraints = {**body["spec"]["matchConstraints"], "namespaceSelector": None}
        body = {**body, "spec": {**body["spec"], "matchConstraints": constraints}}
    return {**body, "metadata": metadata}


def assert_same(chart: Objects, kustomization: Objects) -> None:
    assert sorted(chart) == sorted(kustomization)
    for key, body in kustomization.items():
        assert chart[key] == body, key


def test_the_chart_with_its_defaults_installs_the_base() -> None:
    assert_same(by_key(helm.rendered()), by_key(renders.installation().values()))


@pytest.mark.parametrize("component", CHOICES)
def test_a_value_selects_the_component_of_the_kustomization(component: str) -> None:
    chart = by_key(helm.rendered(CHOICES[component]))
    assert_same(chart, by_key(renders.installation(frozenset([component])).values()))


def test_every_component_of_an_installation_is_compared() -> None:
    assert {*CHOICES, "confined"} == renders.OPTIONS.keys()


def test_namespaces_are_set_up_as_by_the_kustomization() -> None:
    chart = by_key(helm.rendered({"namespaces": [_TEAM]}))
    namespace = _named(renders.namespace(confined=False).values(), {NAMESPACE: _TEAM})
    assert_same(chart, by_key(renders.installation().values()) | by_key(namespace))


def test_watch_namespaces_confine_as_the_two_components() -> None:
    chart = by_key(helm.rendered({"watchNamespaces": [_TEAM]}))
    served = {"name": "TORPOR_NAMESPACES", "value": _TEAM}
    for name in ("operator", "triggerer", "archive"):
        (container,) = chart["Deployment", "torpor-system", f"torpor-{name}"]["spec"]["template"]["spec"]["containers"]
        container["env"].remove(served)
    namespace = _named(renders.namespace(confined=True).values(), {NAMESPACE: _TEAM})
    assert_same(chart, by_key(renders.installation(frozenset(["confined"])).values()) | by_key(namespace))


def test_a_pool_is_that_of_the_component() -> None:
    pool = {"name": "own", "image": "own-trigger:dev", "triggers": ["resolves=own_trigger.dns:Resolves"]}
    chart = by_key(helm.rendered({"pools": [pool]}))
    names = {POOL: "own", "xtriggersx": "resolves=own_trigger.dns:Resolves", "torpor:dev": "own-trigger:dev"}
    component = by_key(_named(renders.pool().values(), names))
    assert_same(chart, by_key(renders.installation().values()) | component)


def test_what_would_be_lost_is_kept_by_an_uninstallation() -> None:
    kept = {
        (body["kind"], body["metadata"]["name"])
        for body in helm.rendered()
        if (body["metadata"].get("annotations") or {}).get("helm.sh/resource-policy") == "keep"
    }
    assert kept == {key for key, body in renders.installation().items() if is_kept(body)}
    assert {kind for kind, _ in kept} == {"CustomResourceDefinition", "PersistentVolumeClaim", "Secret", "ConfigMap"}


def test_two_renderings_of_the_chart_are_equal() -> None:
    values = {"ui": {"enabled": True}, "watchNamespaces": [_TEAM, "team-b"]}
    assert helm.template(values).stdout == helm.template(values).stdout


def _named(bodies: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Any]:
    return [_replaced(body, names) for body in bodies]


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            for placeholder, name in names.items():
                value = value.replace(placeholder, name)
            return value
        case dict():
            return {_replaced(key, names): _replaced(item, names) for key, item in value.items()}
        case list():
            return [_replaced(item, names) for item in value]
        case _:
            return value
