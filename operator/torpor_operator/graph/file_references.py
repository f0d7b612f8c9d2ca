"""The files of a task: which tasks its inputs name, and what is wrong with its paths and references. Pure."""

from collections.abc import Iterator, Mapping

from torpor_crds.models import files
from torpor_crds.models.files import TaskInput
from torpor_crds.models.task import Task
from torpor_wire import constants

_SYSTEM = (constants.RUNTIME_FOLDER, "/dev", "/proc", "/sys", "/run/secrets", "/var/run/secrets")
_OUTPUTS = f"{constants.FILES_FOLDER}/out"


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
                return f"{where}: it has no source: write ${{tasks.NAME.files.OUTPUT}}, or an object with one source"
            continue
        if name not in tasks:
            return f"{where}: unknown task {name}; tasks: {_listed(tasks)}"
        producer = tasks[name].files
        outputs = {output.name: output for output in (producer.out if producer else ())}
        if file not in outputs:
            return f"{where}: task {name} does not store a file {file}; its files.out: {_listed(outputs)}"
    return None


def _path_problem(task: Task) -> str | None:
    """Why no pod can have the paths. Two mounts of a container cannot have one path."""
    mounts = task.pod.volume_mounts if task.pod is not None else ()
    used = {mount.mount_path.rstrip("/"): f"the volume {mount.name}" for mount in mounts}
    outputs = {each.name: files.output_path(each.name, each.path) for each in (task.files.out if task.files else ())}
    if any(path.startswith(f"{_OUTPUTS}/") for path in outputs.values()):
        used[_OUTPUTS] = "the outputs without a path"
    for entry in _inputs(task):
        where, path = f"files.in {entry.name}: path: {{}}", files.input_path(entry.name, entry.path)
        if path in used:
            return where.format(f"{path} is also the path of {used[path]}: choose another one")
        if (folder := _system_folder(path)) is not None:
            return where.format(f"{path} is in {folder}, a folder of the system: choose another one")
        used[path] = f"the input {entry.name}"
    for name, path in outputs.items():
        if (folder := _system_folder(path)) is not None:
            return f"files.out {name}: path: {path} is in {folder}, a folder of the system: choose another one"
    return None


def _system_folder(path: str) -> str | None:
    """The folder of the system that a path is in."""
    return next((each for each in _SYSTEM if f"{path}/".startswith(f"{each}/")), None)


def _inputs(task: Task) -> Iterator[TaskInput]:
    return iter(task.files.in_ if task.files else ())


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)[:20]) or "none"
