"""When the Workflow needs a pass after a change of one TaskRun or its pod. Pure.

A pass plans the whole run. Most changes decide nothing: a pod is created, bound to a node, starts, and claims its
TaskRun. After these changes the rules of this one TaskRun are evaluated, and a pass follows only if they require it.
"""

from dataclasses import replace

from torpor_api.models.taskrun import TaskRun
from torpor_wire.state import State

from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import transitions
from torpor_operator.taskrun.step import TaskRunView

_ACTIVE = frozenset({State.SCHEDULED, State.RUNNING})


def after_pod(view: TaskRunView, former: Pod | None, pod: Pod | None) -> float | None:
    """When the next pass is due after a pod was created, changed or deleted: now, later, or None if it need not be."""
    if pod is None or (former is not None and former.uid != pod.uid):
        return view.now
    is_live = not any(each.terminal or each.deleting for each in (former or pod, pod))
    return _own_due(view) if is_live else view.now


def after_taskrun(view: TaskRunView, former: TaskRun | None) -> float | None:
    """The same after the TaskRun was created or changed: only the claim of its present pod decides nothing."""
    return _own_due(view) if former is not None and _is_plain_claim(view, former) else view.now


def _is_plain_claim(view: TaskRunView, former: TaskRun) -> bool:
    """Whether a pod has claimed the TaskRun, and the Workflow's status remains as it is."""
    before, after = former.status, view.taskrun.status
    return (
        former.metadata.uid == view.taskrun.metadata.uid
        and (before.state, after.state) == (State.SCHEDULED, State.RUNNING)
        and (before.attempt, before.segment, before.launch) == (after.attempt, after.segment, after.launch)
        and before.reason is None
        and after.reason is None
        and view.current_pod is not None
    )


def _own_due(view: TaskRunView) -> float | None:
    """When the rules of this TaskRun require something."""
    if view.taskrun.status.state not in _ACTIVE:
        return view.now
    try:
        step = transitions.next_step(replace(view, reads_events=True))
    except Exception:  # noqa: BLE001 - the pass meets the same error, and reports it
        return view.now
    return view.now if step.actions or step.needs or step.events or step.wants_pod else step.again_at
