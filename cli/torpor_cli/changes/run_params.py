"""Values for the params of a run: those that its template declares, or those of its spec."""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_client.changes import new_runs, params, template_params
from torpor_wire.enums import TemplateKind

from torpor_cli import errors
from torpor_cli.changes import manifest
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.resources import CLUSTER_TEMPLATES, TEMPLATES
from torpor_cli.schedules import lookup


def given(
    cluster: ClusterConnection, spec: Mapping[str, Any], pairs: Iterable[str], params_file: str | None
) -> dict[str, Any]:
    """Return the values of the command line for a Workflow's spec. Raises UsageError and UnknownNameError."""
    pairs, values = list(pairs), manifest.params(params_file)
    if not pairs and not values:
        return {}
    if reference := spec.get("templateRef"):
        return template_params.parse(pairs, values, find_template(cluster, reference["name"], reference.get("kind")))
    declared = spec.get("params") or {}
    params.check_names(values, declared)
    return {**values, **params.parse(pairs, declared)}


def given_for_schedule(
    cluster: ClusterConnection, schedule: Mapping[str, Any], pairs: Iterable[str], params_file: str | None
) -> dict[str, Any]:
    """Return the values of the command line for the runs of a Schedule. Raises UsageError and UnknownNameError.

    A param whose value is an expression has no type: its value on the command line is JSON, or else text.
    """
    spec = schedule["spec"]
    own = {name: None if _is_expression(value) else value for name, value in (spec.get("params") or {}).items()}
    declared = {**((spec.get("workflow") or {}).get("params") or {}), **own}
    return given(cluster, {"templateRef": spec.get("templateRef"), "params": declared}, pairs, params_file)


def _is_expression(value: Any) -> bool:
    return isinstance(value, str) and "${" in value


def find_template(cluster: ClusterConnection, name: str, kind: str | None = None) -> Object:
    """Return a template. Raises UnknownNameError with the nearest name."""
    return lookup.find(cluster, CLUSTER_TEMPLATES if kind == TemplateKind.CLUSTER else TEMPLATES, name)


def of_earlier(cluster: ClusterConnection, workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with which an earlier run can run again.

    The operator has added the constants of the template, which a run cannot set, and the defaults, which stay as they
    were. Raises CliError if the template does not exist any more.
    """
    spec, name = workflow["spec"], workflow["metadata"]["name"]
    if not (reference := spec.get("templateRef")):
        return new_runs.settable(workflow, None)
    try:
        template = find_template(cluster, reference["name"], reference.get("kind"))
    except errors.UnknownNameError as error:
        raise errors.CliError(
            f"{error}; run {name} was created from it: `torpor get {name} -o yaml` has the tasks"
        ) from error
    return new_runs.settable(workflow, template)
