"""The files of a task: which tasks its inputs name, and what is wrong with its paths and references. Pure."""

from collections.abc import Iterator, Mapping

from torpor_crds.models import files
from torpor_crds.models.files import TaskInput
from torpor_crds.models.task import Task
from torpor_wire import constants

_SYSTEM = (constants.RUNTIME_FOLDER, "/dev", "/proc", "/sys", "/run/secrets", "/var/run/secrets")


def upstream(task: Task) -> frozenset[str]:
    """The tasks whose outputs the task reads."""
    return frozenset(entry.source.task for entry in _inputs(task) if entry.source.task is not None)


def problem(task: Task, tasks: Mapping[str, Task]) -> str | None:
    """Why no pod can have the files of the task; None if one can."""
    if (wrong := _path_problem(task)) is not None:
        return wrong
    for entry in _inputs(task):
        name, file = entry.source.task, entry.source.file
        where = f"files.in {entry.name}: from"
        if name is None:
            if not entry.source.to_json():
                return f"{where}: no source: write ${{tasks.NAME.files.OUTPUT}}, or an object with one source"
            continue
        if name not in tasks:
            return f"{where}: unknown task {name}; tasks: {_listed(tasks)}"
        producer = tasks[name].files
        outputs = {output.name: output for output in (producer.out if producer else ())}
        if file not in outputs:
            return f"{where}: task {name} does not store a file {file}; its files.out: {_listed(outputs)}"
    return None


def _path_problem(task: Task) -> str | None:
    inputs = {entry.name: files.input_path(entry.name, entry.path) for entry in _inputs(task)}
    if len({*inputs.values()}) < len(inputs):
        twice = next(path for path in inputs.values() if [*inputs.values()].count(path) > 1)
        return f"files.in: two inputs have the path {twice}"
    outputs = (files.output_path(entry.name, entry.path) for entry in (task.files.out if task.files else ()))
    for path in (*inputs.values(), *outputs):
        if (folder := next((each for each in _SYSTEM if f"{path}/".startswith(f"{each}/")), None)) is not None:
            return f"files: the path {path} is in {folder}, a folder of the system"
    return None


def _inputs(task: Task) -> Iterator[TaskInput]:
    return iter(task.files.in_ if task.files else ())


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)[:20]) or "none"
