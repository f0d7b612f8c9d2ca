"""The spec of a Workflow in an object: its own, or that in a WorkflowTemplate or a Schedule. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor_cli.linting import kinds
from torpor_cli.linting.finding import LintProblem, Path, dotted

_PLACEHOLDER = "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The spec, with every param that a run of it has, and its path in the object."""

    spec: Mapping[str, Any]
    path: Path

    def relocated(self, problem: LintProblem) -> LintProblem:
        """Return a problem of a Workflow with this spec as one of the object."""
        path = (*self.path, *problem.path[1:])
        before, after = dotted(problem.path), dotted(path)
        moved = problem.message.startswith(before)
        return replace(problem, path=path, message=problem.message.replace(before, after) if moved else problem.message)


def find(kind: str, spec: Mapping[str, Any]) -> Embedded | None:
    """Return the Workflow's spec in the spec of an object, None without one."""
    if kind == kinds.WORKFLOW:
        return Embedded(spec=spec, path=("spec",))
    workflow = spec.get("workflow")
    if not isinstance(workflow, Mapping):
        return None
    params = {**_params(kind, spec), **(workflow.get("params") or {})}
    return Embedded(spec={**workflow, "params": params}, path=("spec", "workflow"))


def _params(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params that a run has besides those of the workflow. Their values are not known."""
    match kind, spec.get("params"):
        case kinds.TEMPLATE, list() as declared:
            return {one["name"]: _PLACEHOLDER for one in declared if isinstance(one, Mapping) and "name" in one}
        case kinds.SCHEDULE, dict() as given:
            return dict.fromkeys(given, _PLACEHOLDER)
        case _:
            return {}
