"""Messages of a run as a user reads them: with the names that the commands take, instead of names of TaskRuns. Pure."""

import re
from collections.abc import Iterable

from torpor_wire.state import RunState, TaskState

from torpor_views.model import RunView, TaskView

NAMED = 3
"""Objects that a sentence names; it counts the others."""
_TASKRUN = re.compile(r"\bTaskRun ([a-z0-9.-]+): ", re.ASCII)


def listed(names: Iterable[str]) -> str:
    """Return `a, b and c`, or `a, b, c and 4 more`."""
    all_names = list(names)
    more = len(all_names) - NAMED
    *first, last = [*all_names[:NAMED], f"{more} more"] if more > 0 else all_names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def readable(run: RunView, message: str) -> str:
    """Return a message without the names of TaskRuns; instances of a mapped task or a group are named by `task/0.1`."""
    if "TaskRun " not in message:
        return message
    refs = {instance.name: f"{instance.ref}: " if instance.path else "" for instance in run.all_instances()}
    return _TASKRUN.sub(lambda match: refs.get(match[1], match[0]), message)


def of_task(run: RunView, task: TaskView) -> str:
    """Return the message of a task; of one that an ended run never started, that it did not start."""
    if run.ended and not task.ended and not run.instances_of(task.name):
        return "did not start: the run has ended"
    return readable(run, task.message)


def of_tree(run: RunView) -> str:
    """Return the message of a run above its tasks: a failed run names its failed tasks, whose own messages say why."""
    verdict = run.conditions.get("Succeeded")
    if verdict is None:
        return ""
    failed = [task.name for task in run.tasks if task.state is TaskState.FAILED]
    if run.state is RunState.FAILED and any(verdict.message.startswith(f"task {name} failed: ") for name in failed):
        return f"{'task' if len(failed) == 1 else 'tasks'} {listed(failed)} failed"
    return readable(run, verdict.message)
