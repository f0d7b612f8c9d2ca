"""The fields of a Workflow and of its tasks that are options in Python. `max_active` is the field `maxActive`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class SharedOptions(TypedDict, total=False):
    """Options of a task, or of all tasks of a workflow."""

    image: str
    runtime: str
    source: Mapping[str, Any]
    timeout: str
    trigger_pool: str
    queue: str


class TaskOptions(SharedOptions, total=False):
    """Options of a task. `retries` may be a number alone. `when`, `result` and `fail_when` may be references."""

    name: str
    when: str
    rule: str
    branch: bool
    hook: str
    retries: int | Mapping[str, Any]
    may_fail: bool
    timeout_while_deferred: bool
    trigger: Mapping[str, Any]
    result: str
    fail_when: str
    pool: str
    max_active: int
    display_name: str
    files: Mapping[str, Any]
    metrics: Sequence[Mapping[str, Any]]
    pod: Mapping[str, Any]


class WorkflowOptions(SharedOptions, total=False):
    """Options of a workflow: fields of its spec."""

    parallelism: int
    max_map_size: int
    variables_from: str
    count_deferred: bool
    deferrable: bool
    ttl_after_finished: str
    pods_ttl: str
    logs: str
    defaults: Mapping[str, Any]
    bodies: Mapping[str, Mapping[str, Any]]
    volume_claims: Sequence[Mapping[str, Any]]
    result: str
    metrics: Sequence[Mapping[str, Any]]
    notify: Sequence[Mapping[str, Any]]


def field_name(option: str) -> str:
    """Return the field of an option."""
    first, *rest = option.split("_")
    return "podsTTL" if option == "pods_ttl" else first + "".join(map(str.capitalize, rest))


def check(place: str, given: Mapping[str, Any], known: type) -> None:
    """Raise TypeError for an option that does not exist."""
    if unknown := sorted(given.keys() - known.__annotations__):
        raise TypeError(f"{place} has no option {unknown[0]!r}; it has {', '.join(known.__annotations__)}")
