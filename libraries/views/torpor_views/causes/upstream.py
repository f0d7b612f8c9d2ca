"""Why a task that has not begun does not begin: its upstream tasks and its trigger rule. Pure."""

from typing import assert_never

from torpor_wire.enums import TriggerRule
from torpor_wire.state import TASK_BROKEN, TaskState

from torpor_views import counts, messages
from torpor_views.causes import commands, remedies
from torpor_views.causes.cause import Cause, CauseKind, Urgency, quoted
from torpor_views.messages import listed
from torpor_views.model import RunView, TaskView


def open_upstream(run: RunView, task: TaskView) -> Cause | None:
    """Return which upstream tasks a Pending task waits for; None if its rule no longer waits for any."""
    lists = [name for name in task.before if name not in task.upstream]
    waiting = _open(run, lists)
    if waiting:
        sentence = f"Task {task.name} waits for the list of its group from {_states(waiting, run)}."
        return _cause(run, task, waiting, sentence)
    waiting = _open(run, list(task.upstream))
    if not waiting or task.rule is TriggerRule.ALWAYS:
        return None
    return _cause(run, task, waiting, f"Task {task.name} waits until {_awaited(task.rule, waiting, run)}.")


def failed_upstream(run: RunView, task: TaskView) -> Cause:
    """Return which failed task keeps a task from running, through tasks that did not run either."""
    root = _root(run, task)
    if root is None:
        detail = quoted(task.reason, task.message) or "an upstream task failed"
        sentence, command = f"Task {task.name} does not run (rule {task.rule}): {detail}.", commands.torpor("get", run)
    else:
        why = quoted(root.reason, messages.readable(run, root.message))
        direct = "upstream task" if root.name in task.before else "the earlier task"
        sentence = f"Task {task.name} does not run: rule {task.rule}, and {direct} {root.name} {_ended(root)}"
        sentence += f" ({why})." if why else "."
        command = remedies.command(run, remedies.FailureCause(reason=root.reason, source=root.source), root.name)
    return Cause(
        kind=CauseKind.UPSTREAM_FAILED,
        urgency=Urgency.ACT,
        sentence=sentence,
        task=task.name,
        ref=task.name,
        reason=task.reason,
        command=command,
    )


def _cause(run: RunView, task: TaskView, waiting: list[TaskView], sentence: str) -> Cause:
    return Cause(
        kind=CauseKind.UPSTREAM_OPEN,
        urgency=Urgency.WAIT,
        sentence=sentence,
        task=task.name,
        ref=task.name,
        command=commands.torpor("why", run, waiting[0].name),
    )


def _open(run: RunView, names: list[str]) -> list[TaskView]:
    tasks = (run.task(name) for name in names)
    return [task for task in tasks if task is not None and not task.ended]


def _awaited(rule: TriggerRule, waiting: list[TaskView], run: RunView) -> str:
    states = _states(waiting, run)
    match rule:
        case TriggerRule.ONE_SUCCESS:
            return f"one upstream task succeeds (rule one_success): {states}"
        case TriggerRule.ONE_FAILED:
            return f"one upstream task fails (rule one_failed): {states}"
        case TriggerRule.ONE_DONE:
            return f"one upstream task has run (rule one_done): {states}"
        case (
            TriggerRule.ALL_SUCCESS
            | TriggerRule.ALL_FAILED
            | TriggerRule.ALL_DONE
            | TriggerRule.ALL_SKIPPED
            | TriggerRule.NONE_FAILED
            | TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS
            | TriggerRule.NONE_SKIPPED
            | TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
            | TriggerRule.ALWAYS
        ):
            return f"{states} {'ends' if len(waiting) == 1 else 'end'} (rule {rule})"
        case _:
            assert_never(rule)


def _states(tasks: list[TaskView], run: RunView) -> str:
    return listed(f"task {task.name} [{_progress(task, run)}]" for task in tasks)


def _progress(task: TaskView, run: RunView) -> str:
    return f"{task.word} {counts.summary(counts.of_task(run, task))}" if task.several else run.word_of(task)


def _root(run: RunView, task: TaskView) -> TaskView | None:
    """The nearest task before it that failed or was cancelled itself."""
    queue, seen = list(task.before), set(task.before)
    while queue:
        ancestor = run.task(queue.pop(0))
        if ancestor is None or ancestor.state not in TASK_BROKEN:
            continue
        if ancestor.state is not TaskState.UPSTREAM_FAILED:
            return ancestor
        new = [name for name in ancestor.before if name not in seen]
        seen.update(new)
        queue += new
    return None


def _ended(task: TaskView) -> str:
    return "was cancelled" if task.state is TaskState.CANCELLED else "failed"
