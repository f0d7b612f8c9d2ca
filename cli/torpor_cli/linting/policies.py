"""Evaluates the admission policies for a new object, with their messages. Pure.

A policy rejects an object with the first item that is wrong. A validation here reports all of them: it is evaluated
with each item of its variable in turn (`variables.problems.size() == 0`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_cli.linting import bundled
from torpor_cli.linting.cel import interpreter
from torpor_cli.linting.cel.functions import CelError
from torpor_cli.linting.finding import LintProblem, LintRule, Severity
from torpor_cli.linting.policy_places import Place

_EMPTY = re.compile(r"(?:^|\|\| )variables\.(\w+)\.size\(\) == 0$")

_USER: Mapping[str, Any] = {}
"""The authorizer of a user who may not act for the operator."""


@dataclass(slots=True, kw_only=True)
class _Variables(Mapping[str, Any]):
    """The variables of a policy, each evaluated at its first use."""

    rules: Mapping[str, str]
    names: Mapping[str, Any]
    known: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            rule = self.rules[name]
            self.known[name] = interpreter.evaluate(rule, {**self.names, "variables": self})
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __contains__(self, name: object) -> bool:
        return name in self.rules

    def only(self, name: str, item: Any) -> "_Variables":
        """Return the variables with one item left in a list."""
        return _Variables(rules=self.rules, names=self.names, known={**self.known, name: [item]})


def violations(written: Mapping[str, Any], plural: str = "workflows") -> Iterator[LintProblem]:
    """Yield why the policies reject the creation of an object that its schema admits, and of what they warn."""
    request = {"resource": {"resource": plural}, "namespace": "default"}
    names = {"object": written, "oldObject": None, "request": request, "authorizer": _USER, "strings": {}}
    for policy in bundled.creation_policies(plural):
        spec, place = policy["spec"], Place(policy=policy["metadata"]["name"], plural=plural, written=written)
        rules = {one["name"]: one["expression"] for one in spec.get("variables", ())}
        if all(interpreter.evaluate(one["expression"], names) for one in spec.get("matchConditions", ())):
            variables = _Variables(rules=rules, names=names)
            for validation in spec["validations"]:
                yield from _rejections(place, validation, variables)


def _rejections(place: Place, validation: Mapping[str, str], variables: _Variables) -> Iterator[LintProblem]:
    name = variable_of(validation["expression"])
    try:
        if interpreter.evaluate(validation["expression"], {**variables.names, "variables": variables}) is True:
            return
        found = variables.get(name)
        items = found if isinstance(found, list) and found and "messageExpression" in validation else [None]
        for item in items:
            seen = variables if item is None else variables.only(name, item)
            message = _message(validation, seen)
            yield LintProblem(
                path=place.path(name, item, message), rule=LintRule.POLICY, message=message, severity=_severity(place)
            )
    except CelError as error:
        yield LintProblem(path=("spec",), rule=LintRule.POLICY, message=f"a policy cannot be evaluated: {error}")


def _severity(place: Place) -> Severity:
    return Severity.WARNING if bundled.action(place.policy) == "Warn" else Severity.ERROR


def variable_of(expression: str) -> str:
    """Return the variable that a validation requires to be empty or false, or an empty string."""
    found = _EMPTY.search(expression) or re.fullmatch(r"!variables\.(\w+)", expression)
    return found[1] if found else ""


def _message(validation: Mapping[str, str], variables: _Variables) -> str:
    if "messageExpression" not in validation:
        return validation["message"].strip()
    return str(interpreter.evaluate(validation["messageExpression"], {**variables.names, "variables": variables}))
