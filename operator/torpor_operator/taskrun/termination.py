"""One TaskRun that is to end, or to go: cancelled, deleted, or making way for its successor. Its pods go first."""

from torpor_wire import times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import DeleteTaskRun, PatchTaskRun
from torpor_operator.taskrun import containers
from torpor_operator.taskrun import step as steps
from torpor_operator.taskrun.step import Step, TaskRunView, both


def make_way(view: TaskRunView) -> Step:
    """A TaskRun that is to be made anew: it goes, its pods first."""
    metadata = view.taskrun.metadata
    going = metadata.deletion_timestamp is not None
    gone = DeleteTaskRun(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
    return both(Step(actions=() if going else (gone,)), held_up(view))


def cancel(view: TaskRunView, message: str) -> Step:
    """What ends the TaskRun: its pods deleted, its wait killed by its triggerer first."""
    status = view.taskrun.status
    if status.state in TERMINAL:
        return _over(view)
    if status.state is State.DEFERRED:
        return _cancel_wait(view, message)
    stop = tuple(steps.delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    patch = transitions.cancel(view.taskrun.pin(), message=message, now=view.now)
    return both(
        Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch), *stop)),
        containers.let_go(view),
    )


def _cancel_wait(view: TaskRunView, message: str) -> Step:
    """`on_kill` is the triggerer's to run; after its grace the operator writes Cancelled itself."""
    asked = view.taskrun.status.cancel
    if asked is None:
        return Step(
            actions=(
                PatchTaskRun(taskrun=view.taskrun, patch=transitions.ask_cancel(view.taskrun.pin(), now=view.now)),
            ),
            again_at=view.now + view.settings.triggerer_grace,
        )
    due = times.epoch(asked) + view.settings.triggerer_grace
    if view.now < due:
        return Step(again_at=due)
    patch = transitions.cancel(view.taskrun.pin(), message=f"{message} (no triggerer answered)", now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def held_up(view: TaskRunView) -> Step:
    """A TaskRun that is being deleted starts nothing more, and goes once its pods have: it says what keeps them."""
    step = containers.let_go(view)
    for pod in (pod for pod in view.pods if not pod.terminal and pod.overdue is not None):
        step = both(step, steps.node_lost(view, pod))
    return step


def kept_by(view: TaskRunView) -> str:
    """What keeps it from going until somebody acts on a node; empty where nothing does."""
    messages = (steps.lost_with_its_node(view, pod) for pod in view.pods)
    found = next((message for message in messages if message is not None), None)
    return f"TaskRun {view.taskrun.metadata.name}: {found}" if found else ""


def delete_lingering_pods(view: TaskRunView) -> Step:
    """A pod that was told to end is told again soon; one that ended its TaskRun by its own word has time."""
    status, settings = view.taskrun.status, view.settings
    stopped = status.state is State.CANCELLED or status.reason == Reason.TIMEOUT
    grace = settings.former_pod_grace if stopped else settings.finished_pod_grace
    return steps.dismiss(view, view.pods, since=status.completion_time, grace=grace)


def _over(view: TaskRunView) -> Step:
    if view.taskrun.metadata.deletion_timestamp is not None:
        return held_up(view)
    return both(delete_lingering_pods(view), containers.let_go(view))
