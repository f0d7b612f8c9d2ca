"""All checks of one object, in the order in which API server, operator and triggerer make them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torpor_cli.linting import bundled, cel_rules, graph, kinds, metadata, schedule, schema, triggers, values
from torpor_cli.linting.finding import LintProblem, Severity
from torpor_cli.linting.kinds import Embedded
from torpor_cli.linting.triggers import Classes

_OF_POLICIES = frozenset({"in", "group", "hook", "name", "spec", "workflow"})
"""Fields whose problems the policies report first, in other words."""


def problems(document: Mapping[str, Any], kind: str, classes: Classes) -> Iterator[LintProblem]:
    """Yield everything that is wrong with an object of this kind."""
    openapi = bundled.schema(kinds.PLURALS[kind])
    checked = {
        **openapi,
        "properties": {name: field for name, field in openapi["properties"].items() if name != "metadata"},
    }
    ours = {name: value for name, value in document.items() if name != "metadata"}
    yield from schema.unknown_fields(ours, checked)
    yield from metadata.violations(document.get("metadata"))
    # The API server ignores the status of a new object.
    stored = schema.without_nulls({name: value for name, value in ours.items() if name != "status"}, checked)
    invalid = list(schema.violations(stored, checked))
    yield from invalid
    blocking = [problem.path for problem in invalid if schema.is_blocking(problem)]
    yield from cel_rules.crd_violations(stored, checked, blocking)
    if not blocking:
        named = {**stored, "metadata": document.get("metadata") or {}}
        of_policies = list(cel_rules.policy_violations(named, kinds.PLURALS[kind]))
        yield from of_policies
        rejected = [problem for problem in of_policies if problem.severity is Severity.ERROR]
        # The model of the operator rejects this field too, and then reports nothing else.
        unreadable = [*invalid, *(problem for problem in rejected if problem.path[-1] == "python")]
        yield from _semantics(kind, schema.without(stored, {problem.path for problem in unreadable}), rejected, classes)


def _semantics(
    kind: str, document: Mapping[str, Any], rejected: Sequence[LintProblem], classes: Classes
) -> Iterator[LintProblem]:
    """Yield what operator and triggerer report of an object that the API server admits."""
    if kind == kinds.SCHEDULE:
        yield from schedule.problems(document["spec"], [problem.path for problem in rejected], classes)
    embedded = kinds.embedded_workflow(kind, document["spec"])
    if embedded is not None and embedded.spec.get("tasks"):
        yield from _workflow(embedded, rejected, classes)


def _workflow(embedded: Embedded, rejected: Sequence[LintProblem], classes: Classes) -> Iterator[LintProblem]:
    """Yield the problems of a Workflow's spec that the policies did not report."""
    document = {"spec": embedded.spec}
    fields = {problem.path for problem in rejected}
    for problem in map(embedded.relocated, graph.problems(document)):
        covered = problem.path in fields or (problem.path[-2:-1] == ("after",) and problem.path[:-1] in fields)
        if not covered and not (rejected and problem.path[-1] in _OF_POLICIES):
            yield problem
    yield from map(embedded.relocated, triggers.problems(embedded.spec, classes))
    yield from map(embedded.relocated, values.problems(document))
