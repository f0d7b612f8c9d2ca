"""The facts that pages take from the programs and from the trigger classes.

The only module of the generator that imports other components.
"""

import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence

from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings
from torpor.triggers.cursors import Unset
from torpor_archive import metrics as archive_metrics
from torpor_archive import settings as archive
from torpor_cli.linting.finding import LintRule
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.timing import SystemClock
from torpor_operator import settings as operator
from torpor_operator.observability import operator_metrics
from torpor_operator.observability.custom_metrics import CustomMetrics
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.observability.workload_metrics import WorkloadMetrics
from torpor_triggerer import settings as triggerer
from torpor_triggerer.reporting import metrics as triggerer_metrics
from torpor_triggerer.usercode import registry
from torpor_ui import settings as page

from torpor_reference.tables import Row, Table

_FLAGS = ("Flag", "Default", "Meaning")
_METRICS = ("Metric", "Kind", "Labels", "Meaning")
_ARGUMENTS = ("Argument", "Type", "Default", "Meaning")
_SECRET_REF = Mapping[str, Mapping[str, str]]
_NAMES = {
    "timedelta | float | str": "duration",
    "datetime | str": "time",
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "Any": "any",
    "int | str | Iterable": "integer, string, or list of both",
}
_TYPE_LINE = re.compile(r"^# TYPE (\w+) (\w+)$", re.MULTILINE)
_CREATED = "_created"


def flags() -> dict[str, Table]:
    """The flags of each program with their defaults, for an empty environment."""
    defaults: dict[str, Mapping[str, object]] = {
        "operator": _defaults(operator.Settings),
        "triggerer": _defaults(triggerer.Settings),
        "archive": _defaults(archive.ArchiveSettings),
        "page": _defaults(page.PageSettings),
    }
    return {
        name: Table(header=_FLAGS, rows=[_flag(*flag) for flag in flags.items()]) for name, flags in defaults.items()
    }


def metrics() -> dict[str, Table]:
    """The metrics of each program with their kinds."""
    of_triggerer, of_archive = triggerer_metrics.TriggererMetrics("default", ()), archive_metrics.ArchiveMetrics()
    of_triggerer.add_gauges(triggerer_metrics.ReplicaState)
    of_triggerer.add_process_metrics()
    of_archive.watch_process()
    of_operator = operator_metrics.OperatorMetrics()
    of_operator.add_state(operator_metrics.OperatorState)
    WorkloadMetrics(of_operator.registry, now=float, is_leader=bool, find_workflow=lambda _: None)
    SpanExporter(_send_nothing, SystemClock(), of_operator.registry)
    CustomMetrics(InProcess(), of_operator.registry, _report_nothing)
    of_operator.add_process_metrics()
    texts = {
        "operator": of_operator.text().decode(),
        "triggerer": of_triggerer.text().decode(),
        "archive": of_archive.text().decode(),
    }
    return {name: Table(header=_METRICS, rows=_metrics(text)) for name, text in texts.items()}


async def _send_nothing(_spans: object) -> bool:
    return True


async def _report_nothing(_workflow: object, _message: str) -> None:
    pass


def arguments() -> dict[str, Table]:
    """The arguments of each built-in trigger class with type and default."""
    classes = registry.load({})
    return {name: Table(header=_ARGUMENTS, rows=_arguments(classes.find(name))) for name in registry.BUILT_IN}


def lint_rules() -> Table:
    """The rules of `torpor lint`."""
    return Table(header=("rule", "what"), rows=[(f"`{rule}`",) for rule in LintRule])


def _defaults(settings: type[BaseSettings]) -> Mapping[str, object]:
    """The documented fields of a settings model with their defaults."""
    fields = settings.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields if field.description}


def _flag(name: str, default: object) -> Row:
    match default:
        case _ if name == "identity":
            shown = "host name"
        case bool():
            shown = str(default).lower()
        case _ if default is PydanticUndefined:
            shown = "required"
        case None | [] | () | "":
            shown = "none"
        case float() if default.is_integer():
            shown = str(int(default))
        case _:
            shown = str(default)
    return f"`--{name.replace('_', '-')}`", f"`{shown}`" if shown not in {"none", "host name", "required"} else shown


def _metrics(text: str) -> Sequence[Row]:
    return [(f"`{name}`", kind) for name, kind in _TYPE_LINE.findall(text) if not name.endswith(_CREATED)]


def _arguments(trigger: object) -> Sequence[Row]:
    if isinstance(trigger, registry.Unknown) or not callable(trigger):
        raise TypeError(f"{trigger} is not a trigger class")
    return [
        (f"`{parameter.name}`", _type(parameter.annotation), _default(parameter))
        for parameter in inspect.signature(trigger).parameters.values()
    ]


def _default(parameter: inspect.Parameter) -> str:
    match parameter.default:
        case parameter.empty:
            return "required"
        case None | "" | Unset():
            return "none"
        case float() as seconds:
            return f"`{seconds:g}s`"
        case value:
            return f"`{value}`"


def _type(annotation: typing.Any) -> str:
    """A Python annotation as an author of YAML reads it."""
    if annotation == _SECRET_REF:
        return "secretRef"
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        parts = [part for part in typing.get_args(annotation) if part not in {type(None), Unset}]
        name = " | ".join(_python_name(part) for part in parts)
        return _NAMES.get(name) or " or ".join(map(_type, parts))
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(annotation))
    if typing.get_origin(annotation) is Mapping:
        return f"map of {_type(typing.get_args(annotation)[1])}"
    if typing.get_origin(annotation) is not None:
        return f"list of {_type(typing.get_args(annotation)[0])}"
    return _NAMES[_python_name(annotation)]


def _python_name(annotation: typing.Any) -> str:
    return getattr(annotation, "__name__", str(annotation))
