"""Values for the params of a Schedule's runs: those of its template, or of the workflow in it."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_torpor.changes import params, template_params
from kubectl_torpor.cluster.api import Object
from kubectl_torpor.cluster.connect import Cluster
from kubectl_torpor.cluster.resources import TEMPLATES
from kubectl_torpor.schedules import lookup


def parse(cluster: Cluster, schedule: Object, pairs: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that replace those of the Schedule. Raises UsageError and UnknownNameError."""
    pairs = list(pairs)
    if not pairs and not given:
        return {}
    spec = schedule["spec"]
    if reference := spec.get("templateRef"):
        return template_params.parse(pairs, given, lookup.find(cluster, TEMPLATES, reference["name"]))
    declared = (spec.get("workflow") or {}).get("params") or {}
    params.check_names(given, declared)
    return {**given, **params.parse(pairs, declared)}
