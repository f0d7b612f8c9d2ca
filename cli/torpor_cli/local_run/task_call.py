"""The call of one task: its function, and its arguments as far as the file has them. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor.debugging import DebugRequest
from torpor_expressions import references, template
from torpor_wire import constants

from torpor_cli import errors
from torpor_cli.local_run import known_values
from torpor_cli.local_run.known_values import InvalidExpressionError, KnownItem, UnknownValue

Spec = Mapping[str, Any]


def build(
    spec: Spec,
    wanted: tuple[str, tuple[int, ...]],
    *,
    given: Mapping[str, Any],
    events: tuple[str, ...] = (),
    workflow: str = "debug",
) -> DebugRequest:
    """Return the call of a task of a Workflow's spec. `wanted` is its name and its indexes, `given` the `--args`.

    An index that is not named is 0. Raises CliError for a task that cannot be called, and UsageError that names the
    arguments that only a run has.
    """
    name, path = wanted
    task = _task(spec, name)
    group_path, index = _indexes(spec, task, path)
    try:
        known = _known(spec, task, group_path)
        arguments, missing = _arguments(task, index, known, given)
        first = _first_wait(task, known)
    except InvalidExpressionError as error:
        raise errors.CliError(f"task {name}: {error}") from error
    if missing:
        raise errors.UsageError(_missing(name, missing))
    return DebugRequest(
        python=task["python"],
        task=name,
        workflow=workflow,
        arguments=arguments,
        maps={entry["name"]: entry["map"] for entry in task.get("expand") or () if "map" in entry},
        lists=tuple(name for name, value in (task.get("args") or {}).items() if _is_results(value)),
        map_index=constants.UNMAPPED if index is None else index,
        group_indexes=group_path,
        first_wait=first,
        events=events,
    )


def _is_results(value: Any) -> bool:
    """Return whether an argument is `${tasks.x.results}` and nothing else, which a pod gets as `Results`."""
    parsed = template.parse(value) if isinstance(value, str) else None
    single = parsed.single if isinstance(parsed, template.StringTemplate) else None
    reference = None if single is None else references.is_plain(single)
    return reference is not None and reference.field == "results"


def _task(spec: Spec, name: str) -> Spec:
    tasks: dict[str, Spec] = {task["name"]: task for task in spec.get("tasks") or ()}
    if name not in tasks:
        raise errors.UsageError(str(errors.unknown("task", name, tasks, f"the file has {', '.join(tasks)}")))
    task = tasks[name]
    if "python" in task:
        return task
    if "container" in task:
        raise errors.CliError(f"task {name} is a container; --task runs Python functions in this process")
    raise errors.CliError(f"task {name} is a wait without code; --task runs Python functions")


def _indexes(spec: Spec, task: Spec, path: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
    """Return the indexes of the groups, and that of the task, None if it is not mapped."""
    groups, mapped = _groups(spec, task), _is_mapped(task)
    levels = len(groups) + mapped
    if len(path) > levels:
        what = "is not mapped" if not levels else f"has {levels} index{'es' if levels > 1 else ''}"
        raise errors.UsageError(f"task {task['name']} {what}; write --task {task['name']}{'/0' * bool(levels)}")
    whole = (*path, *([0] * (levels - len(path))))
    return whole[: len(groups)], whole[-1] if mapped else None


def _is_mapped(task: Spec) -> bool:
    return bool(task.get("expand")) or "expandKwargs" in task


def _groups(spec: Spec, task: Spec) -> list[Spec]:
    """Return the groups around a task, outermost first."""
    by_name = {group["name"]: group for group in spec.get("groups") or ()}
    groups: list[Spec] = []
    name = task.get("group")
    while name in by_name and len(groups) < len(by_name):
        groups.insert(0, by_name[name])
        name = by_name[name].get("in")
    return groups


def _known(spec: Spec, task: Spec, path: tuple[int, ...]) -> dict[str, Any]:
    """Return the values that expressions of the task see without a run: the params, and the items of its groups."""
    known: dict[str, Any] = {"params": dict(spec.get("params") or {}), "groups": {}}
    for group, index in zip(_groups(spec, task), path, strict=True):
        items = dict(known_values.items(list(group["expand"]), index, known))
        whole = {name: item for name, item in items.items() if isinstance(item, KnownItem)}
        if len(whole) == len(items):
            known["groups"] = {**known["groups"], group["name"]: known_values.scope_of(index, whole)}
    return known


def _arguments(
    task: Spec, index: int | None, known: dict[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments, and the expressions of those that only a run has."""
    mapped = _mapped_arguments(task, index, known)
    values = {name: known_values.evaluated(value, known) for name, value in (task.get("args") or {}).items()}
    every = {**values, **mapped, **given}
    missing = {name: value.expression for name, value in every.items() if isinstance(value, UnknownValue)}
    return {name: value for name, value in every.items() if name not in missing}, missing


def _mapped_arguments(task: Spec, index: int | None, known: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the items at an index, and add `mapping` to what is known."""
    if index is None:
        return {}
    if "expandKwargs" in task:
        return _kwargs(task, index, known)
    items = dict(known_values.items(list(task["expand"]), index, known))
    whole = {name: item for name, item in items.items() if isinstance(item, KnownItem)}
    if len(whole) == len(items):
        known["mapping"] = known_values.scope_of(index, whole)
    return {name: item.argument if isinstance(item, KnownItem) else item for name, item in items.items()}


def _kwargs(task: Spec, index: int, known: dict[str, Any]) -> dict[str, Any]:
    """Return the item of `expandKwargs`. Those of a run are not known, not even by name."""
    objects = known_values.evaluated(task["expandKwargs"], known)
    if isinstance(objects, UnknownValue):
        return {}
    if not isinstance(objects, list) or index >= len(objects) or not isinstance(objects[index], dict):
        raise InvalidExpressionError(f"expandKwargs has no object {index}")
    twice = sorted(objects[index].keys() & (task.get("args") or {}).keys())
    if twice:
        raise InvalidExpressionError(f"expandKwargs: item {index}: {twice[0]} is also a constant in args; remove one")
    known["mapping"] = {"index": index, "key": index, "value": objects[index]}
    return dict(objects[index])


def _first_wait(task: Spec, known: dict[str, Any]) -> Spec | None:
    """Return the trigger before the first pod, with the values that are known."""
    trigger = task.get("trigger")
    if trigger is None:
        return None
    kwargs = trigger.get("kwargs") or {}
    shown = known_values.evaluated(kwargs, known)
    return {**trigger, "kwargs": kwargs if isinstance(shown, UnknownValue) else shown}


def _missing(task: str, missing: Mapping[str, str]) -> str:
    named = ", ".join(f"{name} is ${{{expression}}}" for name, expression in missing.items())
    example = ", ".join(f'"{name}": ...' for name in missing)
    return f"task {task} needs values of a run: {named}; write --args '{{{example}}}'"
