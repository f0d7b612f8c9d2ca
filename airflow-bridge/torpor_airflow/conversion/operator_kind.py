"""What the converter asks an operator of Airflow. It reads attributes, and runs nothing."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

_CHOOSING = {"BranchMixIn", "ShortCircuitOperator"}
_PULL, _PUSH = "xcom_pull", "xcom_push"


def class_of(operator: Any) -> type:
    """Return the class, also of a mapped operator."""
    found: type = operator.operator_class if operator.is_mapped else type(operator)
    return found


def is_a(operator: Any, *names: str) -> bool:
    """Whether a class of these names is among the bases: the classes themselves may not be installed."""
    return any(each.__name__ in names for each in class_of(operator).__mro__)


def chooses(operator: Any) -> bool:
    """Whether the operator chooses which of its downstream tasks run."""
    return is_a(operator, *_CHOOSING)


def is_empty(operator: Any) -> bool:
    """Whether Airflow runs nothing for it."""
    return (
        operator.inherits_from_empty_operator
        and not operator.is_mapped
        and not any(field(operator, name) for name in ("outlets", "inlets", *CALLBACKS))
    )


CALLBACKS = (
    "on_execute_callback",
    "on_success_callback",
    "on_failure_callback",
    "on_retry_callback",
    "on_skipped_callback",
)


def field(operator: Any, name: str) -> Any:
    """Return a field of the task, None if a mapped operator does not have it."""
    found = getattr(operator, name, None)
    return operator.partial_kwargs.get(name) if found is None and operator.is_mapped else found


def references(operator: Any) -> AbstractSet[str]:
    """Return the tasks whose XComs the arguments of an operator are, as in `load(extract())`."""
    from airflow.sdk.definitions.xcom_arg import XComArg  # noqa: PLC0415 - Airflow takes seconds to import

    given: list[Any] = [getattr(operator, name, None) for name in operator.template_fields]
    group = operator.get_closest_mapped_task_group()
    if operator.is_mapped:
        given = [operator.partial_kwargs, operator._get_specified_expand_input()]  # noqa: SLF001 - no public form
    if group is not None:
        given.append(group._expand_input)  # noqa: SLF001
    return {each.task_id for each, _ in XComArg.iter_xcom_references(given)} - {operator.task_id}


def pulls(operator: Any, known: Sequence[str]) -> AbstractSet[str] | None:
    """Return the tasks whose XComs code and templates of an operator pull by name; None for names that are computed."""
    pulling = [text for text in texts(operator) if _PULL in text]
    if not pulling:
        return set()
    named = {name for name in known for text in pulling if re.search(rf"""["']{re.escape(name)}["']""", text)}
    return named or None


def pushes_more(operator: Any) -> bool:
    """Whether the result of an operator may have links or other XComs beside the returned value."""
    if operator.operator_extra_links or field(operator, "multiple_outputs"):
        return True
    return any(_PUSH in text for text in (*texts(operator), *_source(class_of(operator))))


def texts(operator: Any) -> Iterator[str]:
    """Yield the templates of an operator, and the source of its class and of its functions."""
    values = operator.partial_kwargs if operator.is_mapped else vars(operator)
    function = getattr(operator, "python_callable", None)  # of a mapped task, it is none of the values
    for value in [function, *values.values(), *(values.get("_BaseOperator__init_kwargs") or {}).values()]:
        yield from texts_in(value)
    if not class_of(operator).__module__.startswith("airflow.providers."):
        yield from _source(class_of(operator))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value, and the source of its functions."""
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
        case _ if inspect.isfunction(value):
            yield from _source(value)


def _source(value: Any) -> Iterator[str]:
    try:
        yield inspect.getsource(value)
    except (OSError, TypeError):
        return
