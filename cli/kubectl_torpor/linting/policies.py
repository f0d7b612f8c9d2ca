"""Evaluates the admission policies for a new object, with their messages. Pure.

A policy rejects an object with the first item that is wrong. A validation here reports all of them: it is evaluated
with each item of its variable in turn (`variables.unknownAfter.size() == 0`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubectl_torpor.linting import bundled
from kubectl_torpor.linting.cel import interpreter
from kubectl_torpor.linting.cel.functions import CelError
from kubectl_torpor.linting.finding import Path, Problem, Rule

_EMPTY = re.compile(r"variables\.(\w+)\.size\(\) == 0")

FIELDS: Mapping[str, Path] = {
    "invalidParams": ("spec", "params"),
    "booleanParams": ("spec", "params"),
    "invalidArgs": ("args",),
    "booleanArgs": ("args",),
    "reservedHeaders": ("trigger", "kwargs", "headers"),
    "invalidExpand": ("expand",),
    "invalidExpandKwargs": ("expandKwargs",),
    "emptyExpand": ("expand",),
    "mappedTwice": ("expandKwargs",),
    "invalidMaxActive": ("maxActive",),
    "mappedBranches": ("branch",),
    "duplicateArgs": ("expand",),
    "duplicateNames": ("name",),
    "unknownGroups": ("group",),
    "unknownParents": ("in",),
    "cyclicGroups": ("in",),
    "deepGroups": ("in",),
    "groupedHooks": ("hook",),
    "mapFunctions": ("expand",),
    "unknownAfter": ("after",),
    "afterOwnGroup": ("after",),
    "triggerArgs": ("args",),
    "tooDeep": ("spec",),
}
"""The field that each variable of the policies concerns: of a task or group, or from the root."""
FIELDS_OF_OTHERS: Mapping[str, Path] = {
    "fieldsOfTemplate": ("spec",),
    "booleanNames": ("spec", "params"),
    "problems": ("spec", "params"),
}
"""The same for the policies of a run of a template, and of a WorkflowTemplate."""
_IN_WORKFLOW = ("workflowtemplates", "schedules")
"""Resources with the spec of a Workflow in `spec.workflow`."""
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


def violations(written: Mapping[str, Any], plural: str = "workflows") -> Iterator[Problem]:
    """Yield why the policies reject the creation of an object that its schema admits."""
    request = {"resource": {"resource": plural}, "namespace": "default"}
    names = {"object": written, "oldObject": None, "request": request, "authorizer": _USER, "strings": {}}
    for policy in bundled.creation_policies(plural):
        spec = policy["spec"]
        rules = {one["name"]: one["expression"] for one in spec.get("variables", ())}
        if all(interpreter.evaluate(one["expression"], names) for one in spec.get("matchConditions", ())):
            variables = _Variables(rules=rules, names=names)
            found = [one for validation in spec["validations"] for one in _rejections(plural, validation, variables)]
            # A group in itself is also nested too deep.
            nested = {problem.path: problem for problem in reversed(found) if problem.path[-1] == "in"}
            yield from (one for one in found if nested.get(one.path, one) is one)


def _rejections(plural: str, validation: Mapping[str, str], variables: _Variables) -> Iterator[Problem]:
    name = variable_of(validation["expression"])
    try:
        if interpreter.evaluate(validation["expression"], {**variables.names, "variables": variables}) is True:
            return
        items = variables.get(name, [])
    except CelError as error:
        message = f"a policy cannot be evaluated: {error}"
        yield Problem(path=("spec",), rule=Rule.POLICY, message=message)
        return
    for item in items if isinstance(items, list) and "messageExpression" in validation else [None]:
        seen = variables if item is None else variables.only(name, item)
        yield Problem(
            path=_path(plural, variables.names["object"], name, item),
            rule=Rule.POLICY,
            message=_message(validation, seen),
        )


def variable_of(expression: str) -> str:
    """Return the variable that a validation requires to be empty or false, or an empty string."""
    found = _EMPTY.fullmatch(expression) or re.fullmatch(r"!variables\.(\w+)", expression)
    return found[1] if found else ""


def _message(validation: Mapping[str, str], variables: _Variables) -> str:
    if "messageExpression" not in validation:
        return validation["message"].strip()
    return str(interpreter.evaluate(validation["messageExpression"], {**variables.names, "variables": variables}))


def _path(plural: str, written: Mapping[str, Any], name: str, item: Any) -> Path:
    """Return the path of an item: a task or a group itself, or the name of one, or of a param."""
    if name in FIELDS_OF_OTHERS:
        return FIELDS_OF_OTHERS[name]
    inner = written["spec"].get("workflow") if plural in _IN_WORKFLOW else written["spec"]
    root: Path = ("spec", "workflow") if plural in _IN_WORKFLOW and inner else ("spec",)
    fields = FIELDS.get(name, ())
    if fields[:1] == ("spec",):
        return _of_param((*root, *fields[1:]), written, item)
    for kind in ("tasks", "groups"):
        for index, one in enumerate((inner or {}).get(kind, ())):
            if one is item or (isinstance(item, str) and kind == "groups" and one["name"] == item):
                return (*root, kind, index, *fields)
    return ("metadata", "annotations") if not name else root


def _of_param(fields: Path, written: Mapping[str, Any], item: Any) -> Path:
    """Return the path of a param of the workflow, or of the Schedule itself."""
    if not isinstance(item, str):
        return fields
    own = written["spec"].get("params")
    if fields[:2] == ("spec", "workflow") and isinstance(own, dict) and item in own:
        return ("spec", "params", item)
    return (*fields, item)
