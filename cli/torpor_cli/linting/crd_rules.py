"""Evaluates the CEL rules of the CRD's schema for a new object, with the messages of the API server. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from torpor_cli.linting.cel import interpreter
from torpor_cli.linting.cel.functions import CelError
from torpor_cli.linting.finding import LintProblem, LintRule, Path, dotted
from torpor_cli.linting.schema import Schema, type_name

_RULES = "x-kubernetes-validations"


def violations(value: Any, schema: Schema, invalid: Collection[Path], path: Path = ()) -> Iterator[LintProblem]:
    """Yield the rules that a value breaks. A value that contains a path of `invalid` is not evaluated itself."""
    if not any(one[: len(path)] == path for one in invalid):
        for rule in schema.get(_RULES, ()):
            yield from _broken(rule, value, path)
    match value:
        case dict():
            known: Mapping[str, Schema] = schema.get("properties", {})
            for name, child in value.items():
                if name in known:
                    yield from violations(child, known[name], invalid, (*path, name))
        case list():
            for index, child in enumerate(value):
                yield from violations(child, schema.get("items", {}), invalid, (*path, index))
        case _:
            return


def _broken(rule: Mapping[str, str], value: Any, path: Path) -> Iterator[LintProblem]:
    names = {"self": value}
    try:
        if "oldSelf" in rule["rule"] or interpreter.evaluate(rule["rule"], names) is True:
            return
        message = rule.get("message") or interpreter.evaluate(rule["messageExpression"], names)
    except CelError as error:
        message = f"the rule cannot be evaluated: {error}"
    at = (*path, *filter(None, rule.get("fieldPath", "").split(".")))
    shown = f'"{value}": ' if type_name(value) == "string" else ""
    yield LintProblem(path=at, rule=LintRule.CRD_RULE, message=f"{dotted(at)}: Invalid value: {shown}{message}")
