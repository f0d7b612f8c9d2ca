"""The params of a run of a WorkflowTemplate: constants, defaults, and the run's own values, checked by type. Pure.

A pattern is matched by the CEL evaluator, whose regular expressions (RE2) take linear time: Python's `re` does not.
Policy torpor-params (manifests/base/policies/params.yaml) has the same rules and messages.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from torpor_crds.models.template import Parameter, WorkflowTemplate
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire.enums import ParameterType

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.model.snapshot import Answer

_SHOWN = 60
"""Characters of a value in a message."""
_LISTED = 20
"""Names or values that a message lists."""
_MATCHES = "value.matches(pattern)"


@dataclass(frozen=True, slots=True)
class InvalidParams:
    """Why params do not fit their template: a sentence that names each of these params."""

    message: str


ResolvedParams: TypeAlias = "dict[str, JSON] | InvalidParams | Pending"


def resolve(template: WorkflowTemplate, given: Mapping[str, JSON], known: Mapping[Need, Answer]) -> ResolvedParams:
    """The params of a run that sets `given`. A param that is optional, without default, and not set is null."""
    parameters = template.spec.params
    values = {each.name: given.get(each.name, each.default) for each in parameters}
    to_check = [each for each in parameters if each.name in given or each.default is not None]
    problems = [*_not_settable(template, given), *_missing(template, given)]
    needs: list[Need] = []
    for parameter in to_check:
        match _problem(parameter, values[parameter.name], known):
            case str() as problem:
                problems.append(problem)
            case Evaluate() as need:
                needs.append(need)
            case None:
                pass
    if problems:
        return InvalidParams("; ".join(problems))
    return Pending(tuple(needs)) if needs else dict(template.spec.workflow.params) | values


def _not_settable(template: WorkflowTemplate, given: Mapping[str, JSON]) -> Iterator[str]:
    """The params that a run cannot set: constants, and names that the template does not have."""
    name, declared = template.metadata.name, [each.name for each in template.spec.params]
    for param in sorted(given.keys() - set(declared)):
        if param in template.spec.workflow.params:
            yield f"param {param} cannot be set: it is a constant of template {name}"
        else:
            yield f"unknown param {param}; params of template {name}: {_listed(declared)}"


def _missing(template: WorkflowTemplate, given: Mapping[str, JSON]) -> Iterator[str]:
    for each in template.spec.params:
        if each.required and each.default is None and each.name not in given:
            yield f"param {each.name} is missing: template {template.metadata.name} requires it"


def _problem(parameter: Parameter, value: JSON, known: Mapping[Need, Answer]) -> str | Evaluate | None:
    """What is wrong with the value; the evaluation that has to decide it; None if the value fits."""
    if not _is_of_type(value, parameter.type):
        return f"param {parameter.name} must be {_described(parameter.type)}, not {_shown(value)}"
    if parameter.enum is not None and all(not _equal(value, each) for each in parameter.enum):
        allowed = _listed([_shown(each) for each in parameter.enum])
        return f"param {parameter.name} must be one of {allowed}, not {_shown(value)}"
    if parameter.pattern is None or not isinstance(value, str):
        return None
    return _pattern_problem(parameter.name, parameter.pattern, value, known)


def _pattern_problem(name: str, pattern: str, value: str, known: Mapping[Need, Answer]) -> str | Evaluate | None:
    match known.get(need := matching(pattern, value)):
        case Value(json=True):
            return None
        case Value():
            return f"param {name} must match {pattern}, not {_shown(value)}"
        case ExpressionError(message=message):
            return f"param {name} cannot be matched with {pattern}: {message.removesuffix(f'; in {_MATCHES}')}"
        case _:
            return need


def matching(pattern: str, value: str) -> Evaluate:
    """The evaluation of whether the whole value matches the pattern."""
    sources = (("pattern", pattern), ("value", value))
    return Evaluate(_MATCHES, sources, {"pattern": f"^(?:{pattern})$", "value": value})


def _is_of_type(value: JSON, wanted: ParameterType) -> bool:
    match wanted:
        case ParameterType.STRING:
            return isinstance(value, str)
        case ParameterType.BOOLEAN:
            return isinstance(value, bool)
        case ParameterType.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        case ParameterType.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ParameterType.ARRAY:
            return isinstance(value, list)
        case ParameterType.OBJECT:
            return isinstance(value, dict)
        case _:
            assert_never(wanted)


def _described(wanted: ParameterType) -> str:
    match wanted:
        case ParameterType.BOOLEAN:
            return "true or false"
        case ParameterType.INTEGER | ParameterType.ARRAY | ParameterType.OBJECT:
            return f"an {wanted}"
        case ParameterType.STRING | ParameterType.NUMBER:
            return f"a {wanted}"
        case _:
            assert_never(wanted)


def _equal(value: JSON, other: JSON) -> bool:
    """Equality of JSON: unlike in Python, true is not 1."""
    match value, other:
        case dict(), dict():
            return value.keys() == other.keys() and all(_equal(value[key], other[key]) for key in value)
        case list(), list():
            return len(value) == len(other) and all(map(_equal, value, other))
        case _:
            return isinstance(value, bool) == isinstance(other, bool) and value == other


def _shown(value: JSON) -> str:
    match value:
        case list():
            return "a list"
        case dict():
            return "an object"
        case str() if len(value) > _SHOWN:
            return json.dumps(f"{value[:_SHOWN]}...", ensure_ascii=False)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return (", ".join(texts[:_LISTED]) or "none") + more
