"""What kustomize makes of the manifests: the base alone, and with each component that a value of the chart selects."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from torpor_demo import manifest
from torpor_demo.cluster import ROOT

from torpor_chart.template_text import NAMESPACE, POOL

Object = Mapping[str, Any]
Key = tuple[str, str]
"""Kind and name."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # LibYAML is ten times as fast
_MANIFESTS = ROOT / "manifests"
OPTIONS = {
    "confined": "$.Values.watchNamespaces",
    "archive-postgresql": "$.Values.archive.postgresql.enabled",
    "autoscaling": "$.Values.triggerer.autoscaling.enabled",
    "monitoring": "$.Values.monitoring.enabled",
    "ui": "$.Values.ui.enabled",
}
"""By the name of a component, the value of the chart that selects it."""


@cache
def installation(components: frozenset[str] = frozenset()) -> Mapping[Key, Object]:
    """The objects of an installation with these components."""
    chosen = [_components(name) for name in OPTIONS if name in components]
    return _objects({"resources": [_MANIFESTS / "base"], "components": chosen})


@cache
def namespace(*, confined: bool) -> Mapping[Key, Object]:
    """The objects that set a namespace up for workflows, without the namespace itself."""
    components = [_components("confined-namespace")] if confined else []
    objects = _objects({"resources": [_MANIFESTS / "namespace"], "components": components, "namespace": NAMESPACE})
    return {key: body for key, body in objects.items() if body["kind"] != "Namespace"}


@cache
def pool() -> Mapping[Key, Object]:
    """The objects of a pool of triggerers."""
    settings = {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "TriggerPool",
        "metadata": {"name": POOL, "annotations": {"config.kubernetes.io/local-config": "true"}},
        "spec": {"image": "torpor:dev", "triggers": "xtriggersx"},
    }
    text = manifest.render({"components": [_components("pool")]}, files={"pool.yaml": settings})
    return _by_key(text)


def _components(name: str) -> Path:
    return _MANIFESTS / "components" / name


def _objects(kustomization: Mapping[str, Any]) -> Mapping[Key, Object]:
    return _by_key(manifest.render(kustomization))


def _by_key(text: str) -> Mapping[Key, Object]:
    return {(body["kind"], body["metadata"]["name"]): body for body in yaml.load_all(text, _LOADER)}
