"""Where a field of a task is written: in the task, in its body, or in `spec.defaults`, which each task has. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_crds.models.defaults import add_fields, body_additions
from torpor_crds.models.run_of import parse_body_ref
from torpor_crds.models.workflow import WorkflowSpec

from torpor_cli.linting.finding import Path

_TASK_DEPTH = 3
"""Length of a path such as spec.tasks[0]."""
_MERGED = ("pod", "retries", "timeout")
_KEYS = ("name", "mountPath")
"""Fields that identify an entry of a list that is merged."""


def with_bodies(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a written spec whose tasks have the fields of their bodies. One whose body is unknown stays as it is."""
    tasks = written.get("tasks")
    if not isinstance(tasks, list):
        return dict(written)
    return {**written, "tasks": [_with_body(task, body_of(task, written)) for task in tasks]}


def body_of(task: Any, written: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the body of the spec that a task uses; None if there is none."""
    name, bodies = body_name(task), written.get("bodies")
    body = bodies.get(name) if isinstance(bodies, Mapping) and name is not None else None
    return body if isinstance(body, Mapping) else None


def body_name(task: Any) -> str | None:
    """Return the name of the body of the same spec that a task uses."""
    reference = parse_body_ref(task.get("use")) if isinstance(task, Mapping) else None
    name = reference.get("body") if isinstance(reference, Mapping) else None
    return name if isinstance(name, str) else None


def _with_body(task: Any, body: Mapping[str, Any] | None) -> Any:
    return task if body is None else add_fields(task, body_additions(task, body))


def path_in_body(path: Path, complete: Mapping[str, Any], written: Mapping[str, Any]) -> Path:
    """Return where the field at a path of a task of the complete spec is written: in the task, or in its body."""
    if path[:2] != ("spec", "tasks") or len(path) <= _TASK_DEPTH or not isinstance(path[2], int):
        return path
    task, field = written["tasks"][path[2]], path[_TASK_DEPTH:]
    body = body_of(task, written)
    if body is None or _translated(field, complete["tasks"][path[2]], task) is not None:
        return path
    translated = _translated(field, complete["tasks"][path[2]], body)
    return path if translated is None else ("spec", "bodies", str(body_name(task)), *translated)


def with_defaults(written: Mapping[str, Any], spec: WorkflowSpec) -> dict[str, Any]:
    """Return a written spec whose tasks have the fields that `spec`, its model, got from the defaults."""
    if not written.get("defaults"):
        return dict(written)
    tasks = []
    for task, model in zip(written["tasks"], spec.tasks, strict=True):
        fields = {name: body for name, body in model.to_json().items() if name in _MERGED}
        tasks.append({**task, **fields})
    return {**written, "tasks": tasks}


def written_path(path: Path, complete: Mapping[str, Any], written: Mapping[str, Any]) -> Path:
    """Return where the field at a path of the complete spec is written."""
    if path[:2] != ("spec", "tasks") or len(path) <= _TASK_DEPTH or path[_TASK_DEPTH] not in {*_MERGED, "image"}:
        return path
    index, field = path[2], path[_TASK_DEPTH:]
    task = complete["tasks"][index]
    if (own := _translated(field, task, written["tasks"][index])) is not None:
        return (*path[:_TASK_DEPTH], *own)
    if field == ("image",):
        return ("spec", "image") if written.get("image") else ("spec", "defaults", "image")
    if (default := _translated(field, task, written.get("defaults") or {})) is not None:
        return ("spec", "defaults", *default)
    return path


def _translated(path: Path, complete: Any, written: Any) -> "Path | None":
    """Return the path of the same field in what is written; None if it is not there."""
    translated: list[str | int] = []
    for part in path:
        key: str | int | None = part
        if isinstance(part, int):
            key = _index(complete[part], part, written)
        elif not isinstance(written, Mapping) or part not in written:
            key = None
        if key is None:
            return None
        translated.append(key)
        complete, written = complete[part] if isinstance(part, int) else complete.get(part), written[key]
    return tuple(translated)


def _index(entry: Any, index: int, written: Any) -> int | None:
    """Return the index of an entry in what is written. It is at another one in a list that is merged."""
    if not isinstance(written, list):
        return None
    key = next((key for key in _KEYS if isinstance(entry, Mapping) and key in entry), None)
    if key is None:
        return index if index < len(written) and written[index] == entry else None
    names = [each.get(key) if isinstance(each, Mapping) else None for each in written]
    return names.index(entry[key]) if entry[key] in names else None
