"""Checks the params of runs against their template in the same file. Pure.

A value that is an expression is known only when the run starts, so only its name is checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torpor_client.changes import template_params
from torpor_client.errors import UsageError

from torpor_cli.linting import kinds
from torpor_cli.linting.finding import LintProblem, LintRule, Path

Templates = Mapping[tuple[str, str], Mapping[str, Any]]
"""The templates of a file by kind and name."""


def templates_of(objects: Iterable[Mapping[str, Any]]) -> Templates:
    """Return the templates whose params can be read."""
    found = {}
    for item in objects:
        kind, metadata = kinds.kind_of(item), item.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        if kind in kinds.TEMPLATES and isinstance(name, str) and _is_readable(item.get("spec")):
            found[kind, name] = item
    return found


def problems(document: Mapping[str, Any], kind: str, templates: Templates) -> Iterator[LintProblem]:
    """Yield the params of an object's runs that do not fit."""
    spec = document.get("spec")
    if not templates or not isinstance(spec, Mapping):
        return
    if kind == kinds.WORKFLOW:
        yield from _of_run(spec, ("spec",), templates)
    embedded = spec if kind == kinds.WORKFLOW else spec.get("workflow")
    path: Path = ("spec",) if kind == kinds.WORKFLOW else ("spec", "workflow")
    tasks = embedded.get("tasks") if isinstance(embedded, Mapping) else None
    for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if isinstance(task, Mapping) and isinstance(run := task.get("run"), Mapping):
            yield from _of_run(run, (*path, "tasks", index, "run"), templates, _items(task), task.get("expandKwargs"))


def _of_run(
    run: Mapping[str, Any], path: Path, templates: Templates, items: Iterable[str] = (), unknown_items: object = None
) -> Iterator[LintProblem]:
    """Yield the problems of one run. `items` are the params that the items of a mapped task set."""
    reference, values = run.get("templateRef"), run.get("params") or {}
    if not isinstance(reference, Mapping) or not isinstance(values, Mapping):
        return
    template = templates.get((str(reference.get("kind") or kinds.TEMPLATE), str(reference.get("name"))))
    if template is None:
        return
    names = set(map(str, values)) | set(items)
    for name in sorted(names):
        try:
            given = {name: values[name]} if name in values and not _has_expression(values[name]) else {}
            template_params.check_name(name, template)
            template_params.parse((), given, template)
        except UsageError as error:
            yield _problem((*path, "params", name) if name in values else path, str(error))
    missing = [] if unknown_items else template_params.missing(names, template)
    for name in missing:
        yield _problem(path, f"param {name} is missing: template {template['metadata']['name']} requires it")


def _items(task: Mapping[str, Any]) -> set[str]:
    expand = task.get("expand")
    entries = expand if isinstance(expand, list) else ()
    return {entry["name"] for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)}


def _has_expression(value: Any) -> bool:
    match value:
        case str():
            return "${" in value
        case Mapping():
            return any(map(_has_expression, value.values()))
        case list():
            return any(map(_has_expression, value))
        case _:
            return False


def _is_readable(spec: Any) -> bool:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("workflow"), Mapping):
        return False
    params, constants = spec.get("params") or [], spec["workflow"].get("params") or {}
    named = isinstance(params, list) and all(
        isinstance(param, Mapping)
        and isinstance(param.get("name"), str)
        and isinstance(param.get("enum", []), list | None)
        for param in params
    )
    return named and isinstance(constants, Mapping)


def _problem(path: Path, message: str) -> LintProblem:
    return LintProblem(path=path, rule=LintRule.PARAMS, message=message)
