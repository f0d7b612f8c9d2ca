"""Which fields of an object the values of the chart set. Pure."""

import copy
from collections.abc import Mapping
from typing import Any

from torpor_chart import deployment
from torpor_chart.template_text import block, entries, field, scalar

Body = dict[str, Any]

_KEPT = {"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": "Prune=false,Delete=false"}
_MORE_LABELS = ('{{- with include "torpor.labels" $ }}', "{{- . | nindent @same@ }}", "{{- end }}")
_LABELS = ('{{- with include "torpor.labels" $ }}', "labels:", "{{- . | nindent @inner@ }}", "{{- end }}")


def with_values(source: Mapping[str, Any]) -> Body:
    """The object with expressions where the values of the chart decide."""
    body = copy.deepcopy(dict(source))
    metadata = body["metadata"]
    _edit(body, metadata)
    if is_kept(source):
        metadata["annotations"] = {**metadata.get("annotations", {}), **_KEPT}
    if "labels" in metadata:
        metadata["labels"][block(*_MORE_LABELS)] = None
    else:
        metadata[block(*_LABELS)] = None
    return body


def _edit(body: Body, metadata: Body) -> None:
    match body["kind"], metadata["name"]:
        case "Deployment", _:
            deployment.edit(body)
        case "ClusterRoleBinding", name:
            metadata["name"] = name + scalar('include "torpor.suffix" $')
        case "ValidatingAdmissionPolicy", "torpor-lease":
            _select_systems(body["spec"]["matchConstraints"])
        case "PersistentVolumeClaim", _:
            _claim(body["spec"])
        case "ConfigMap", "torpor-ui":
            body["data"] = {entries("$.Values.ui.config"): None}
        case "HorizontalPodAutoscaler", _:
            _bounds(body["spec"])
        case "ServiceAccount", "torpor-task":
            body[field("imagePullSecrets", "$.Values.tasks.imagePullSecrets")] = None
        case "ServiceAccount", "torpor-archive":
            metadata[field("annotations", "$.Values.archive.serviceAccountAnnotations")] = None
        case _:
            pass


def is_kept(body: Mapping[str, Any]) -> bool:
    """Whether `helm uninstall` leaves the object: with it, runs, results or keys would be lost."""
    kind, name = body["kind"], body["metadata"]["name"]
    if kind in ("CustomResourceDefinition", "PersistentVolumeClaim"):
        return True
    return kind in ("Secret", "ConfigMap") and (name == "torpor-archive" or name.startswith("torpor-seal-"))


def _bounds(spec: Body) -> None:
    for bound in ("minReplicas", "maxReplicas"):
        spec[bound] = scalar(f"$.Values.triggerer.autoscaling.{bound}")


def _select_systems(constraints: Body) -> None:
    """`helm install --create-namespace` sets no label, so the policy names the namespaces of installations."""
    systems = [scalar("$.Release.Namespace | quote"), block(*_OTHER_SYSTEMS)]
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": systems}
    constraints["namespaceSelector"] = {"matchExpressions": [names]}


_OTHER_SYSTEMS = ("{{- range $.Values.cluster.systemNamespaces }}", "- {{ . | quote }}", "{{- end }}")


def _claim(spec: Body) -> None:
    spec["resources"]["requests"]["storage"] = scalar("$.Values.archive.storage.size")
    value = "$.Values.archive.storage.storageClassName"
    spec[block(f"{{{{- with {value} }}}}", "storageClassName: {{ . | quote }}", "{{- end }}")] = None
