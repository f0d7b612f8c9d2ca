"""Defaults of all tasks of a run, and how a spec and its tasks get them: field by field. Pure (ADR 0057).

A field that a task sets stays. Maps and entries with a name are merged by key. Any other list is replaced as a whole.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from pydantic import Field
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
