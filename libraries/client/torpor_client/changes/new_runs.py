"""The bodies of new runs: from a template, and with the spec of an earlier run. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from torpor_wire import constants
from torpor_wire.enums import TemplateKind

from torpor_client.changes import template_params

_DROPPED = frozenset({"suspend", "stop", "cancel", "runOf", "parent"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PREFIX_MAX = 57
"""A generated name has 63 characters at most, five of them random."""


def of_template(
    template: Mapping[str, Any], values: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a run of a template. Raises UsageError for params that do not fit.

    `metadata` has `name` or `generateName`; by default the name begins with that of the template.
    """
    checked = template_params.parse((), values, template)
    template_params.check_required(checked, template)
    name = template["metadata"]["name"]
    reference = {"kind": str(TemplateKind.CLUSTER)} if template.get("kind") == TemplateKind.CLUSTER else {}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": dict(metadata or {"generateName": f"{name}-"}),
        "spec": {"templateRef": {**reference, "name": name}, **({"params": checked} if checked else {})},
    }


def copy_of(earlier: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Workflow with the spec of another, which is neither suspended nor cancelled.

    A run of a template has only the template and `values`: the operator copies the template as it is now. The event
    that started a run of a Schedule is not copied, nor are Torpor's own labels and annotations.
    """
    metadata, spec = earlier["metadata"], earlier["spec"]
    kept = {"templateRef": spec["templateRef"]} if spec.get("templateRef") else _without(spec, _DROPPED)
    annotations = _without(_foreign(metadata.get("annotations")), {_LAST_APPLIED})
    copied = {"labels": _foreign(metadata.get("labels")), "annotations": annotations}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "generateName": _prefix(earlier),
            **{key: value for key, value in copied.items() if value},
        },
        "spec": {**_without(kept, {"params"}), **({"params": dict(values)} if values else {})},
    }


def settable(earlier: Mapping[str, Any], template: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values with which an earlier run can run again.

    The operator has added the constants of the template, which a run cannot set, and the defaults, which stay as they
    were. `template`: that of the run, None if it has none.
    """
    values = dict(earlier["spec"].get("params") or {})
    if template is None:
        return values
    known = template_params.declared(template)
    return {key: value for key, value in values.items() if key in known}


def _prefix(earlier: Mapping[str, Any]) -> str:
    """Return the begin of the new name: that of the earlier run, or the name of its Schedule."""
    metadata = earlier["metadata"]
    name = (earlier["spec"].get("runOf") or {}).get("schedule") or metadata["name"]
    return metadata.get("generateName") or f"{name[:_PREFIX_MAX].rstrip('-.')}-"


def _without(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def _foreign(texts: Mapping[str, str] | None) -> dict[str, str]:
    """Return labels or annotations without those of Torpor, which are about the earlier run."""
    return {key: value for key, value in (texts or {}).items() if not key.startswith(f"{constants.GROUP}/")}
