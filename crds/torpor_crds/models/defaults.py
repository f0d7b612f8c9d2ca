"""Defaults of all tasks of a run, bodies of some, and how tasks get them: field by field (ADR 0057, 0074). Pure.

A field that a task sets stays. Maps and entries with a name are merged by key. Any other list is replaced as a whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo
from torpor_wire.enums import LogMode

from torpor_crds.models.base import Duration, Model, TaskRetries
from torpor_crds.models.notify import NotifyList
from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.task import Task

M = TypeVar("M", bound=Model)
_KEYS = {
    **dict.fromkeys(("notify", "env", "volumes", "init_containers", "sidecars"), ("name",)),
    "volume_mounts": ("mount_path",),
}
"""By list: the fields that identify an entry."""
_KEY_OF_LIST = {
    **dict.fromkeys(("env", "volumes", "initContainers", "sidecars", "in", "out", "metrics"), "name"),
    "volumeMounts": "mountPath",
}
"""By list of a task, as in YAML: the field that identifies an entry."""
PLACE_FIELDS = frozenset(
    {"name", "use", "after", "group", "hook", "when", "rule", "branch", "mayFail", "displayName"}
    | {"expand", "expandKwargs", "maxActive"}
)
"""The fields, as in YAML, that give a task its place in the graph. A body has all other fields."""
BodyAddition: TypeAlias = tuple[tuple[str, ...], Any]
"""A path in a task, and the value there."""


class TaskDefaults(Model):
    """Fields that tasks have if they do not set them."""

    image: Annotated[
        str | None, Field(max_length=512, description="Image of tasks with a pod. Set it here, or in spec.image.")
    ] = None
    pod: Annotated[
        PodFields | None,
        Field(
            description="Fields of the pods. Labels, resources and the like are merged by key, `env`, `volumes`, "
            "`initContainers` and `sidecars` by name, and `volumeMounts` by path. A task replaces any other list."
        ),
    ] = None
    retries: Annotated[TaskRetries | None, Field(description="How failed attempts are retried.")] = None
    timeout: Annotated[Duration | None, Field(description="Maximum duration of an attempt.")] = None
    logs: Annotated[
        LogMode | None, Field(description="Which logs the archive keeps. Set it here, or in spec.logs.")
    ] = None
    notify: NotifyList = ()


def with_defaults(tasks: Iterable[Task], defaults: TaskDefaults) -> tuple[Task, ...]:
    """The tasks, each with the defaults in the fields that it does not set. No task gets an image: the spec has it."""
    return tuple(_with_defaults(task, defaults) for task in tasks)


def _with_defaults(task: Task, defaults: TaskDefaults) -> Task:
    has_pod = task.python is not None or task.container is not None
    return task.model_copy(
        update={
            "retries": merged(task.retries, defaults.retries),
            "timeout": task.timeout or defaults.timeout,
            "pod": merged(task.pod, defaults.pod) if has_pod else task.pod,
        }
    )


def merged(upper: M | None, lower: M | None) -> M | None:
    """The model with the fields of `upper`, and those of `lower` that it does not set.

    It costs what `upper` sets, and not what the models could have: 500 tasks share the defaults.
    """
    if upper is None or lower is None:
        return lower if upper is None else upper
    values = {name: _value(name, getattr(upper, name), getattr(lower, name)) for name in upper.model_fields_set}
    return lower.model_copy(update=values)


def _value(name: str, upper: Any, lower: Any) -> Any:
    match upper, lower:
        case Model(), Model():
            return merged(upper, lower)
        case dict(), dict():
            return lower | upper
        case tuple(), tuple() if name in _KEYS:
            return _by_key(_KEYS[name], upper, lower)
        case None | (), _:
            return lower
        case _:
            return upper


def _by_key(keys: tuple[str, ...], upper: tuple[Any, ...], lower: tuple[Any, ...]) -> tuple[Any, ...]:
    identity = attrgetter(*keys)
    entries = {identity(entry): entry for entry in lower}
    entries.update((identity(entry), entry) for entry in upper)
    return tuple(entries.values())


def body_additions(task: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[BodyAddition]:
    """What a task, as JSON, gets of its body: the fields that it does not set.

    A value that equals the default of its field counts as unset, since the API server stores defaults.
    """
    return _additions(Task, task, {name: value for name, value in body.items() if name not in PLACE_FIELDS})


def add_fields(task: Mapping[str, Any], additions: Iterable[BodyAddition]) -> dict[str, Any]:
    """The task with the values at their paths; the given one stays as it is."""
    complete = dict(task)
    for path, value in additions:
        holder = complete
        for name in path[:-1]:
            holder[name] = dict(holder[name])
            holder = holder[name]
        holder[path[-1]] = value
    return complete


def _additions(model: type[Model] | None, upper: Mapping[str, Any], lower: Mapping[str, Any]) -> Iterator[BodyAddition]:
    """The additions to an object. Without a model it is a map, whose values are taken as a whole."""
    fields = {} if model is None else _fields(model)
    for name, value in lower.items():
        field, own = fields.get(name), upper.get(name)
        if _is_unset(field, own):
            if value != own:
                yield (name,), value
        elif model is None:
            continue
        elif isinstance(own, Mapping) and isinstance(value, Mapping):
            yield from (((name, *path), added) for path, added in _additions(_inner(field), own, value))
        elif name in _KEY_OF_LIST and isinstance(own, list) and isinstance(value, list):
            entries = {_identity(entry, _KEY_OF_LIST[name]): entry for entry in [*value, *own]}
            if len(entries) > len(own):
                yield (name,), [*entries.values()]


def _identity(entry: Any, key: str) -> str:
    return str(entry.get(key)) if isinstance(entry, Mapping) else str(entry)


@cache
def _fields(model: type[Model]) -> Mapping[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _is_unset(field: FieldInfo | None, value: Any) -> bool:
    if value is None or value == []:
        return True
    return field is not None and isinstance(value, str | bool | int) and value == field.default


def _inner(field: FieldInfo | None) -> type[Model] | None:
    """The model of an object in a field; None for a map."""
    annotation = None if field is None else field.annotation
    options = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    return next((option for option in options if isinstance(option, type) and issubclass(option, Model)), None)
