"""The kinds that are checked, objects that are meant as one of them, and the Workflow that an object contains. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor_wire import constants

from torpor_cli.linting import default_fields
from torpor_cli.linting.finding import LintProblem, LintRule, Path, dotted
from torpor_cli.linting.schema import nearest

WORKFLOW, TEMPLATE, SCHEDULE, BACKFILL = "Workflow", "WorkflowTemplate", "Schedule", "Backfill"
CLUSTER_TEMPLATE = "ClusterWorkflowTemplate"
TEMPLATES = frozenset({TEMPLATE, CLUSTER_TEMPLATE})
PLURALS: Mapping[str, str] = {
    WORKFLOW: "workflows",
    TEMPLATE: "workflowtemplates",
    CLUSTER_TEMPLATE: "clusterworkflowtemplates",
    SCHEDULE: "schedules",
    BACKFILL: "backfills",
}
"""The plural of each kind that is checked."""
_KINDS = ("TaskRun", *PLURALS)


def kind_of(document: Mapping[str, Any]) -> str | None:
    """Return the kind of an object that is checked, None for any other."""
    kind = document.get("kind")
    known = isinstance(kind, str) and kind in PLURALS and document.get("apiVersion") == constants.API_VERSION
    return kind if known else None


def problem(document: Mapping[str, Any]) -> LintProblem | None:
    """Return why an object seems to be meant for Torpor and is not: a missing or wrong version or kind."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind in _KINDS[1:] and version is None:
        message = f"apiVersion is missing; write apiVersion: {constants.API_VERSION}"
        return LintProblem(path=("kind",), rule=LintRule.KIND, message=message)
    group = version.partition("/")[0] if isinstance(version, str) else ""
    if group != constants.GROUP or (version == constants.API_VERSION and kind in _KINDS):
        return None
    hint = f"; write {constants.API_VERSION}" if kind in _KINDS else nearest(str(kind), _KINDS)
    if kind is not None and not hint:
        return None  # configuration of kustomize, such as TriggerPool
    field = "apiVersion" if kind in _KINDS or kind is None else "kind"
    message = f'no matches for kind "{kind}" in version "{version}"{hint}' if kind else "kind is missing"
    return LintProblem(path=(field,), rule=LintRule.KIND, message=message)


_PLACEHOLDER = "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The spec, with every param that a run of it has and the bodies of its tasks, and its path in the object."""

    spec: Mapping[str, Any]
    path: Path
    written: Mapping[str, Any]

    def relocated(self, problem: LintProblem) -> LintProblem:
        """Return a problem of a Workflow with this spec as one of the object."""
        path = (*self.path, *default_fields.path_in_body(problem.path, self.spec, self.written)[1:])
        before, after = dotted(problem.path), dotted(path)
        moved = problem.message.startswith(before)
        return replace(problem, path=path, message=problem.message.replace(before, after) if moved else problem.message)


def embedded_workflow(kind: str, spec: Mapping[str, Any]) -> Embedded | None:
    """Return the Workflow's spec in the spec of an object, None without one."""
    if kind == WORKFLOW:
        return Embedded(spec=default_fields.with_bodies(spec), path=("spec",), written=spec)
    workflow = spec.get("workflow")
    own = (workflow.get("params") or {}) if isinstance(workflow, Mapping) else None
    if not isinstance(workflow, Mapping) or not isinstance(own, Mapping):
        return None
    params = {**_params(kind, spec), **own}
    complete = default_fields.with_bodies({**workflow, "params": params})
    return Embedded(spec=complete, path=("spec", "workflow"), written=workflow)


def _params(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params that a run has besides those of the workflow. Their values are not known."""
    params = spec.get("params")
    if kind in TEMPLATES and isinstance(params, list):
        return {param["name"]: _PLACEHOLDER for param in params if _has_name(param)}
    return dict.fromkeys(params, _PLACEHOLDER) if kind == SCHEDULE and isinstance(params, dict) else {}


def _has_name(param: Any) -> bool:
    return isinstance(param, Mapping) and isinstance(param.get("name"), str)
