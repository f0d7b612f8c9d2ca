"""Checks that a run has the task and the instance that a user names. Pure."""

from collections.abc import Sequence

from torpor_views.model import InstanceView, RunView
from torpor_wire import instance_paths

from torpor_client import errors
from torpor_client.runs.references import RunReference


def check_reference(wanted: RunReference, run: RunView, *, later: bool = False) -> None:
    """Raise UnknownNameError for a task or an instance that the run does not have.

    `later`: an instance that does not exist yet may come.
    """
    if wanted.task is None:
        return
    if run.task(wanted.task) is None and not run.instances_of(wanted.task):
        known, hint = [task.name for task in run.tasks], f"see `torpor get {run.name}`"
        raise errors.unknown("task", wanted.task, known, hint, where=f"in run {run.name}")
    if not later and wanted.path is not None and not instances_at(wanted, run):
        index, paths = (
            instance_paths.written(wanted.path),
            [instance.path for instance in run.instances_of(wanted.task)],
        )
        raise errors.UnknownNameError(
            f"there is no instance {wanted.task}/{index} in run {run.name}; {_known(wanted.task, paths)}"
        )


def instances_at(wanted: RunReference, run: RunView) -> tuple[InstanceView, ...]:
    """Return the instances that a reference names. A path that is too short names a whole group."""
    if wanted.task is None:
        return run.all_instances()
    path = wanted.path or ()
    return tuple(instance for instance in run.instances_of(wanted.task) if instance.path[: len(path)] == path)


def _known(task: str, paths: Sequence[tuple[int, ...]]) -> str:
    if not paths:
        return f"{task} has no instances yet"
    if not paths[0]:
        return f"{task} is not mapped; write NAME/{task}"
    return f"{task} has {instance_paths.text(path for path in paths if len(path) == len(paths[0]))}"
