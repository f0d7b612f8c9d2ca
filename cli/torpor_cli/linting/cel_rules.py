"""The CEL rules of the CRDs and of the admission policies for a new object, with the messages of the API server. Pure.

A policy rejects an object with the first item that is wrong. A validation here reports all of them: it is evaluated
with each item of its variable in turn (`variables.problems.size() == 0`).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants

from torpor_cli.linting import bundled
from torpor_cli.linting.cel import interpreter
from torpor_cli.linting.cel.functions import CelError
from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity, dotted
from torpor_cli.linting.schema import Schema, type_name

SOURCE_FIELDS: Mapping[str, Path] = {
    **dict.fromkeys(
        ("invalidCount", "invalidFields", "reversedRanges", "impossibleDays", "ambiguousSources"), ("cron",)
    ),
    "invalidCursors": ("cursor",),
    **dict.fromkeys(
        ("cursorArguments", "booleanArguments", "invalidArguments", "expressionArguments"), ("trigger", "kwargs")
    ),
    "reservedHeaders": ("trigger", "kwargs", "headers"),
    "ambiguousTriggers": ("trigger", "kwargs", "expression"),
    "unknown": ("timezone",),
}
"""The field of a Schedule's source that each variable concerns."""
PARAM_VARIABLES = frozenset({"invalidParams", "booleanParams"})
"""The variables of `torpor-backfill` with names of params."""
_TOO_DEEP = "tooDeep"
"""The variable of `torpor-bounds`, which concerns the whole spec."""
_OF_TEMPLATE = ("workflowtemplates", "clusterworkflowtemplates")
_IN_WORKFLOW = (*_OF_TEMPLATE, "schedules")
"""Resources with the spec of a Workflow in `spec.workflow`."""
_OF_ANNOTATIONS, _OF_TEMPLATES = ("torpor-clear", "torpor-mark"), "torpor-template"
_SOURCE = re.compile(r"source (\w+): ")
_PARAM = re.compile(r"param (\w+)\b")
_QUOTED_PARAM = re.compile(r'param "(.*?)" ')
_TASK = re.compile(r"task (\w+)\b")
_GROUP = re.compile(r"group (\w+)\b|(\w+) is the name of a task and of a group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The object that a policy rejects."""

    policy: str
    plural: str
    written: Mapping[str, Any]

    def path(self, name: str, item: Any, message: str) -> Path:
        """Return the path of an item of a variable: a field with its sentence, or the name of a field.

        A task, a group, a source and a param are found by their names in the message.
        """
        spec = self.written["spec"]
        if not name or name == "fieldsOfTemplate":
            field = (item,) if isinstance(item, str) else ()
            return ("metadata", "annotations") if self.policy in _OF_ANNOTATIONS else ("spec", *field)
        if name in SOURCE_FIELDS:
            return _named(spec, "sources", _SOURCE.match(message), SOURCE_FIELDS[name])
        if self.plural in _OF_TEMPLATE and self.policy == _OF_TEMPLATES:
            return _named(spec, "params", _PARAM.match(message), ())
        embedded = self.plural in _IN_WORKFLOW and "workflow" in spec
        root: Path = ("spec", "workflow") if embedded else ("spec",)
        if name == _TOO_DEEP:
            return root
        if name in PARAM_VARIABLES:
            return ("spec", "params", *((item,) if isinstance(item, str) else ()))
        return self._of_workflow(root, spec["workflow"] if embedded else spec, item[0], message)

    def _of_workflow(self, root: Path, inner: Mapping[str, Any], field: str, message: str) -> Path:
        """Return the path of a field of the workflow, of a task or group in it, or of a param of the Schedule."""
        fields = tuple(filter(None, field.split(".")))
        if field == "params":
            given, own = _QUOTED_PARAM.match(message), self.written["spec"].get("params")
            name = (given[1],) if given else ()
            return (*(("spec",) if isinstance(own, dict) and {*name} & {*own} else root), *fields, *name)
        for kind, pattern in (("tasks", _TASK), ("groups", _GROUP)):
            subject = pattern.match(message)
            names = [entry["name"] for entry in inner.get(kind, ())]
            if subject is not None and subject[subject.lastindex or 1] in names:
                return (*root, kind, names.index(subject[subject.lastindex or 1]), *fields)
        return (*root, *fields)


def _named(spec: Mapping[str, Any], kind: str, name_match: re.Match[str] | None, fields: Path) -> Path:
    """Return the path of the entry of a list whose name a message has."""
    entries = enumerate(spec.get(kind) or ())
    index = next(
        (index for index, entry in entries if name_match is not None and entry.get("name") == name_match[1]), None
    )
    return ("spec", kind) if index is None else ("spec", kind, index, *fields)


_EMPTY = re.compile(r"(?:^|\|\| )variables\.(\w+)\.size\(\) == 0$")

_NAMESPACE: Mapping[str, Any] = {"metadata": {"labels": {constants.POD_SECURITY_LABEL: "privileged"}}}
"""A namespace that allows all privileges: which one an object is for is not known."""
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


def policy_violations(written: Mapping[str, Any], plural: str = "workflows") -> Iterator[LintProblem]:
    """Yield why the policies reject the creation of an object that its schema admits, and of what they warn."""
    request = {"resource": {"resource": plural}, "namespace": "default"}
    names = {
        "object": written,
        "oldObject": None,
        "request": request,
        "authorizer": _USER,
        "namespaceObject": _NAMESPACE,
        "strings": {},
    }
    for policy in bundled.creation_policies(plural):
        spec, place = policy["spec"], Place(policy=policy["metadata"]["name"], plural=plural, written=written)
        rules = {variable["name"]: variable["expression"] for variable in spec.get("variables", ())}
        if all(interpreter.evaluate(condition["expression"], names) for condition in spec.get("matchConditions", ())):
            variables = _Variables(rules=rules, names=names)
            for validation in spec["validations"]:
                yield from _rejections(place, validation, variables)


def _rejections(place: Place, validation: Mapping[str, str], variables: _Variables) -> Iterator[LintProblem]:
    name = variable_of(validation["expression"])
    try:
        if interpreter.evaluate(validation["expression"], {**variables.names, "variables": variables}) is True:
            return
        value = variables.get(name)
        items = value if isinstance(value, list) and value and "messageExpression" in validation else [None]
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
    match = _EMPTY.search(expression) or re.fullmatch(r"!variables\.(\w+)", expression)
    return match[1] if match else ""


def _message(validation: Mapping[str, str], variables: _Variables) -> str:
    if "messageExpression" not in validation:
        return validation["message"].strip()
    return str(interpreter.evaluate(validation["messageExpression"], {**variables.names, "variables": variables}))


_RULES = "x-kubernetes-validations"


def crd_violations(value: Any, schema: Schema, invalid: Collection[Path], path: Path = ()) -> Iterator[LintProblem]:
    """Yield the rules that a value breaks. A value that contains a path of `invalid` is not evaluated itself."""
    if not any(invalid_path[: len(path)] == path for invalid_path in invalid):
        for rule in schema.get(_RULES, ()):
            yield from _broken(rule, value, path)
    match value:
        case dict():
            known: Mapping[str, Schema] = schema.get("properties", {})
            for name, child in value.items():
                if name in known:
                    yield from crd_violations(child, known[name], invalid, (*path, name))
        case list():
            for index, child in enumerate(value):
                yield from crd_violations(child, schema.get("items", {}), invalid, (*path, index))
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
