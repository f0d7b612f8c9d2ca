"""All checks of one document, in the order in which API server, operator and triggerer make them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torpor_wire import constants

from kubectl_torpor.linting import bundled, crd_rules, graph, metadata, policies, schema, triggers, values
from kubectl_torpor.linting.finding import Problem, Rule
from kubectl_torpor.linting.schema import nearest
from kubectl_torpor.linting.triggers import Classes

KIND = "Workflow"
_KINDS = ("TaskRun", KIND, "WorkflowTemplate", "Schedule", "Backfill")
_OF_POLICIES = frozenset({"in", "group", "hook", "name", "spec"})
"""Fields whose problems the policies report first, in other words."""


def kind_problem(document: Mapping[str, Any]) -> Problem | None:
    """Return why an object seems to be meant as a Workflow and is none: a missing or wrong version or kind."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind == KIND and version is None:
        message = f"apiVersion is missing; write apiVersion: {constants.API_VERSION}"
        return Problem(path=("kind",), rule=Rule.KIND, message=message)
    group = version.partition("/")[0] if isinstance(version, str) else ""
    if group != constants.GROUP or (version == constants.API_VERSION and kind in _KINDS):
        return None
    hint = f"; write {constants.API_VERSION}" if kind in _KINDS else nearest(str(kind), _KINDS)
    if kind is not None and not hint:
        return None  # configuration of kustomize, such as TriggerPool
    field = "apiVersion" if kind in _KINDS or kind is None else "kind"
    message = f'no matches for kind "{kind}" in version "{version}"{hint}' if kind else "kind is missing"
    return Problem(path=(field,), rule=Rule.KIND, message=message)


def is_workflow(document: Mapping[str, Any]) -> bool:
    """Whether a document is a Workflow of Torpor."""
    return document.get("apiVersion") == constants.API_VERSION and document.get("kind") == KIND


def problems(document: Mapping[str, Any], classes: Classes) -> Iterator[Problem]:
    """Yield everything that is wrong with a Workflow."""
    openapi = bundled.schema()
    checked = {
        **openapi,
        "properties": {name: one for name, one in openapi["properties"].items() if name != "metadata"},
    }
    ours = {name: value for name, value in document.items() if name != "metadata"}
    yield from schema.unknown_fields(ours, checked)
    yield from metadata.violations(document.get("metadata"))
    # The API server ignores the status of a new object.
    stored = schema.without_nulls({name: value for name, value in ours.items() if name != "status"}, checked)
    invalid = list(schema.violations(stored, checked))
    yield from invalid
    blocking = [problem.path for problem in invalid if schema.is_blocking(problem)]
    yield from crd_rules.violations(stored, checked, blocking)
    if not blocking:
        rejected = list(
            policies.violations({**stored, "metadata": document.get("metadata") or {}}, bundled.workflow_policies())
        )
        yield from rejected
        valid = schema.without(stored, {problem.path for problem in invalid})
        yield from _semantics(valid, rejected, classes)


def _semantics(document: Mapping[str, Any], rejected: Sequence[Problem], classes: Classes) -> Iterator[Problem]:
    """Yield what operator and triggerer report of a Workflow, and the policies did not."""
    fields = {problem.path for problem in rejected}
    for problem in graph.problems(document):
        covered = problem.path in fields or (problem.path[-2:-1] == ("after",) and problem.path[:-1] in fields)
        if not covered and not (rejected and problem.path[-1] in _OF_POLICIES):
            yield problem
    yield from triggers.problems(document["spec"], classes)
    yield from values.problems(document)
