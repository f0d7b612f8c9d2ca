"""What a run does with the runs that its tasks have started: end and suspend them, or wait for them again. Pure.

A run that failed and was cleared goes on, and its task with it: the TaskRun is created again as by a clear, and waits
for the same run (ADR 0073). Meanwhile the outer Workflow owns the run, which would be deleted with its former TaskRun.
"""

from collections.abc import Iterator

from pydantic import ValidationError
from torpor_crds.models.history import ClearedTask, Clearing
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import RunState, State

from torpor_operator.model.child_run_actions import ChangeChildRun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.taskrun import child_run
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView
from torpor_operator.workflows.plan import clear, clear_request, events, status
from torpor_operator.workflows.plan.clear_request import Selection
from torpor_operator.workflows.plan.run_context import RunContext

_WAITS_AGAIN = "wait again: "
"""How `status.clearing.asked` begins if runs were cleared, and their tasks wait for them again."""
_INSTANCES_MAX = 20
"""Instances of one continuation. The next one takes the others."""


def wait_again(run: RunContext) -> WorkflowPlan | None:
    """Clear the tasks whose failed runs were cleared by themselves, so that they wait for them again; None if none."""
    workflow, snapshot = run.workflow, run.snapshot
    if _ends(workflow) or workflow.status.clearing is not None or not snapshot.children:
        return None
    waiting = [each for each in snapshot.taskruns.values() if _goes_on(snapshot, each)][:_INSTANCES_MAX]
    if not waiting or run.graph_problem is not None:
        return None
    selected = _selected(run, waiting)
    message = f"waiting again for runs that were cleared: {clear.describe(selected)}"
    asked = _WAITS_AGAIN + ",".join(each.metadata.name for each in waiting)
    stored = status.reopened(
        workflow,
        Clearing(asked=asked, tasks=selected),
        clear_request.reopened_tasks(run, selected),
        snapshot.now,
        message=message,
    )
    return WorkflowPlan(status=stored, events=(events.cleared(workflow, Reason.CLEARED, message),))


def _goes_on(snapshot: Snapshot, taskrun: TaskRun) -> bool:
    """Whether the task failed, and its run was cleared since it began to wait: it goes on, or has succeeded."""
    call = taskrun.spec.run
    if call is None or not call.waits or taskrun.status.state is not State.FAILED:
        return False
    child = _current(snapshot, taskrun)
    if child is None or child.metadata.deletion_timestamp is not None or not _was_cleared(child):
        return False
    return child.status.completion_time is None or child.status.state == RunState.SUCCEEDED


def _current(snapshot: Snapshot, taskrun: TaskRun) -> Workflow | None:
    children = snapshot.children.get(taskrun.metadata.uid, ())
    return next((child for child in children if child_run.is_current(taskrun, child)), None)


def _selected(run: RunContext, waiting: list[TaskRun]) -> tuple[ClearedTask, ...]:
    """These instances, and what depends on them."""
    named: dict[str, Selection] = {}
    for each in waiting:
        path = each.spec.path
        paths = frozenset({path}) | (named.get(each.spec.task) or frozenset())
        named[each.spec.task] = paths if path else None
    try:
        return tuple(clear_request.with_dependents(run.graph, named))
    except ValidationError:
        return tuple(clear_request.with_dependents(run.graph, dict(list(named.items())[:1])))


def before_deletion(snapshot: Snapshot, view: TaskRunView) -> Step:
    """What comes before the deletion of a TaskRun that a clearing replaces; NOTHING if it may be deleted.

    A run that goes on is released, since the API server would delete it with its owner. A run that no TaskRun owns is
    cancelled: no later pass would know that nothing waits for it.
    """
    taskrun, call = view.taskrun, view.taskrun.spec.run
    if call is None or not call.waits:
        return NOTHING
    open_runs = [child for child in view.children if child.metadata.deletion_timestamp is None]
    if _waits_again(snapshot.workflow, taskrun):
        current = [child for child in open_runs if child_run.is_current(taskrun, child)]
        return Step(actions=tuple(child_run.release(snapshot.workflow, call, child) for child in current))
    if call.is_owned:
        return NOTHING
    return Step(actions=tuple(_end(child, "cancel") for child in open_runs if not _is_ending(child)))


def _waits_again(workflow: Workflow, taskrun: TaskRun) -> bool:
    """Whether the clearing is for this TaskRun, which is not one that only depends on it."""
    clearing = workflow.status.clearing
    if clearing is None or not clearing.asked.startswith(_WAITS_AGAIN):
        return False
    return taskrun.metadata.name in clearing.asked.removeprefix(_WAITS_AGAIN).split(",")


def propagate(snapshot: Snapshot) -> tuple[ChangeChildRun, ...]:
    """What the runs that have not ended get from the run that contains them: its end, and its suspension.

    Each pass decides it, independently of its other decisions. So a lost write is repeated, even after the end.
    """
    return (*_changes(snapshot), *_changes_of_released(snapshot))


def holds_deletion(snapshot: Snapshot) -> bool:
    """Whether a run must be cancelled before this one is gone: a run without an owner is deleted by nothing else."""
    calls = {taskrun.metadata.uid: taskrun.spec.run for taskrun in snapshot.taskruns.values()}
    for uid, children in snapshot.children.items():
        call = calls.get(uid)
        if call is not None and call.waits and not call.is_owned and not all(map(_is_ending, children)):
            return True
    return False


def _changes(snapshot: Snapshot) -> Iterator[ChangeChildRun]:
    for taskrun in snapshot.taskruns.values() if snapshot.children else ():
        if taskrun.spec.run is None or not taskrun.spec.run.waits:
            continue
        for child in snapshot.children.get(taskrun.metadata.uid, ()):
            if child_run.is_wanted(taskrun, child):
                yield from _suspension(snapshot.workflow, child)
            elif not _is_ending(child) and not _goes_on_by_itself(snapshot.workflow, child):
                yield _end(child, _ending(snapshot.workflow))


def _changes_of_released(snapshot: Snapshot) -> Iterator[ChangeChildRun]:
    """Runs that no TaskRun has yet: it is about to be created, unless the run ends before."""
    workflow = snapshot.workflow
    for child in snapshot.released.values():
        if not _ends(workflow) and workflow.status.completion_time is None:
            yield from _suspension(workflow, child)
        elif not _is_ending(child):
            yield _end(child, _ending(workflow))


def _end(child: Workflow, ending: str) -> ChangeChildRun:
    return ChangeChildRun(run=child, fields={ending: True})


def _is_ending(child: Workflow) -> bool:
    """Whether the run has ended, or its stop or cancellation is requested."""
    ended = child.status.completion_time is not None or child.metadata.deletion_timestamp is not None
    return ended or child.spec.cancel or child.spec.stop


def _ends(workflow: Workflow) -> bool:
    return workflow.spec.cancel or workflow.spec.stop or workflow.metadata.deletion_timestamp is not None


def _goes_on_by_itself(parent: Workflow, child: Workflow) -> bool:
    """Whether a user cleared the run since its task began to wait: the task has ended, and is to wait for it again."""
    return _was_cleared(child) and not _ends(parent)


def _was_cleared(child: Workflow) -> bool:
    """Whether a user cleared the run after its end, and no task has waited for it since."""
    origin, status = child.spec.parent, child.status
    return origin is not None and status.reopened_time is not None and status.clears > origin.clears


def _ending(parent: Workflow) -> str:
    """A stopped run lets the hooks of its runs run, as its own."""
    stops = parent.spec.stop and not parent.spec.cancel and parent.metadata.deletion_timestamp is None
    return "stop" if stops else "cancel"


def _suspension(parent: Workflow, child: Workflow) -> Iterator[ChangeChildRun]:
    """A run that a user suspended by itself stays suspended when its parent goes on."""
    if child.status.completion_time is not None or child.metadata.deletion_timestamp is not None:
        return
    by_parent = constants.SUSPENDED_BY_PARENT in child.metadata.annotations
    if parent.spec.suspend and not child.spec.suspend:
        yield ChangeChildRun(run=child, fields={"suspend": True}, by_parent=True)
    elif not parent.spec.suspend and by_parent:
        yield ChangeChildRun(run=child, fields={"suspend": False}, by_parent=False)
