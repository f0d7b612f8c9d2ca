"""Checks the expressions of metrics, which the operator reports only when a task or run has ended. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from torpor_expressions import references
from torpor_expressions.errors import ExpressionError
from torpor_operator.observability.metric_scope import RUN_ROOTS, TASK_ROOTS

from torpor_cli.linting.finding import LintProblem, LintRule, Path, dotted


def problems(spec: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the problems of the metrics of a run and of its tasks."""
    yield from _metrics(spec, ("spec",), RUN_ROOTS)
    for index, task in enumerate(spec.get("tasks") or ()):
        yield from _metrics(task, ("spec", "tasks", index), TASK_ROOTS)


def _metrics(owner: Mapping[str, Any], path: Path, roots: frozenset[str]) -> Iterator[LintProblem]:
    for index, metric in enumerate(owner.get("metrics") or ()):
        at = (*path, "metrics", index)
        yield from _expression(metric, (*at, "value"), roots)
        yield from _expression(metric, (*at, "when"), roots)
        for number, label in enumerate(metric.get("labels") or ()):
            yield from _expression(label, (*at, "labels", number, "value"), roots)


def _expression(owner: Mapping[str, Any], path: Path, roots: frozenset[str]) -> Iterator[LintProblem]:
    expression = owner.get(str(path[-1]))
    if not isinstance(expression, str):
        return
    found = references.find(expression, roots=roots)
    if isinstance(found, ExpressionError):
        yield LintProblem(path=path, rule=LintRule.EXPRESSION, message=f"{dotted(path)}: {found.message}")
