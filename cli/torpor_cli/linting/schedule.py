"""Checks the sources of a Schedule, and its expressions, as operator and triggerer do. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from torpor_expressions import references, template
from torpor_expressions.errors import ExpressionError
from torpor_operator.scheduled_runs.event_expressions import ROOTS
from torpor_wire.cron.ticks import Ticks

from torpor_cli.linting import triggers
from torpor_cli.linting.finding import LintProblem, LintRule, Path
from torpor_cli.linting.triggers import Classes


def problems(spec: Mapping[str, Any], rejected: Collection[Path], classes: Classes) -> Iterator[LintProblem]:
    """Yield what is wrong with the sources, `when` and `params` of a Schedule that its schema admits.

    The policies have reported the problems at the paths of `rejected`.
    """
    for index, source in enumerate(spec.get("sources") or ()):
        path: Path = ("spec", "sources", index)
        if not any(rejected_path[:3] == path for rejected_path in rejected):
            yield from _cron(source, path)
            yield from _trigger(source, path, classes)
    if isinstance(when := spec.get("when"), str):
        yield from _when(when)
    for name, value in (spec.get("params") or {}).items():
        yield from _value(f"params {name}", value, ("spec", "params", name))


def _cron(source: Mapping[str, Any], path: Path) -> Iterator[LintProblem]:
    if "cron" not in source:
        return
    try:
        Ticks.parse(source["cron"], source.get("timezone"))
    except ValueError as error:
        field = "timezone" if str(error).startswith("timezone") else "cron"
        yield LintProblem(path=(*path, field), rule=LintRule.CRON, message=f"source {source.get('name', '')}: {error}")


def _trigger(source: Mapping[str, Any], path: Path, classes: Classes) -> Iterator[LintProblem]:
    call = source.get("trigger")
    if isinstance(call, Mapping) and isinstance(call.get("class"), str):
        yield from triggers.call_problems(call, {"trigger": call}, (*path, "trigger"), classes)


def _when(text: str) -> Iterator[LintProblem]:
    parsed = template.parse(text)
    single = parsed.single if isinstance(parsed, template.StringTemplate) else None
    yield from _expression("when", single or text, ("spec", "when"))


def _value(where: str, value: Any, path: Path) -> Iterator[LintProblem]:
    expressions = template.expressions(value)
    if isinstance(expressions, ExpressionError):
        yield LintProblem(path=path, rule=LintRule.EXPRESSION, message=f"{where}: {expressions.message}")
        return
    for expression in expressions:
        yield from _expression(where, expression, path)


def _expression(where: str, expression: str, path: Path) -> Iterator[LintProblem]:
    parsed = references.find(expression, roots=ROOTS)
    if isinstance(parsed, ExpressionError):
        yield LintProblem(path=path, rule=LintRule.EXPRESSION, message=f"{where}: {parsed.message}")
