"""Deletes the pods of a run some time after they have ended, and not before the archive has read their logs. Pure.

A pod that has ended keeps only its object and its log on the node. Otherwise it stays until its Workflow is deleted,
which may be never. Its log is deleted with it, so the deletion waits for the archive, for a limited time. Only the
deletion waits: a retry or a resume starts its own pod at once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.enums import LogMode
from torpor_wire.state import State

from torpor_operator.model.actions import ConfirmLogs, DeleteWorkflow
from torpor_operator.model.pod import Pod, pod_name
from torpor_operator.model.snapshot import SettledLogs, Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import earliest

_BATCH_INTERVAL = 1.0
"""Seconds between batches, so that pods that ended together are not all deleted at once."""
GRACE = 30.0
"""Seconds after its end for which a pod waits."""
_ARCHIVE_INTERVAL = 1.0
"""Seconds until the archive is asked again."""
_ACTIVE = frozenset({State.SCHEDULED, State.RUNNING})


def seconds_kept(workflow: Workflow, settings: Settings) -> float:
    """How long the pods of a Workflow are kept after their end."""
    return settings.pods_ttl if workflow.spec.pods_ttl is None else times.seconds(workflow.spec.pods_ttl)


def delete_expired(snapshot: Snapshot, plan: WorkflowPlan) -> WorkflowPlan:
    """The plan with the deletion of pods whose TTL has expired, one batch at a time."""
    if snapshot.workflow.metadata.deletion_timestamp is not None:
        return plan  # the garbage collector deletes them
    ttl = seconds_kept(snapshot.workflow, snapshot.settings)
    # Usually none of ten thousand pods is due: each plan reads them once and sorts only those that are.
    due, later = list[Pod](), float("inf")
    for pod in _ended(snapshot):
        if pod.ended_at + ttl <= snapshot.now:
            due.append(pod)
        else:
            later = min(later, pod.ended_at + ttl)
    batch = sorted(due, key=lambda pod: (pod.ended_at, pod.name))[: snapshot.settings.batch]
    waiting, plan = unsettled(snapshot, batch, plan)
    next_at = later if later < float("inf") else None
    again_at = earliest([plan.again_at, next_at, snapshot.now + _BATCH_INTERVAL if len(due) > len(batch) else None])
    return replace(
        plan, actions=(*plan.actions, *(step.delete(pod) for pod in batch if pod.uid not in waiting)), again_at=again_at
    )


def _ended(snapshot: Snapshot) -> Iterator[Pod]:
    """Pods that have ended and whose outcome is stored."""
    for run in snapshot.taskruns.values():
        for pod in snapshot.pods.get(run.metadata.uid, ()):
            if pod.terminal and not pod.has_finalizer and not pod.deleting and not _is_current(run, pod):
                yield pod


def _is_current(run: TaskRun, pod: Pod) -> bool:
    """Whether the outcome of the pod remains to be read from it."""
    status = run.status
    if status.state not in _ACTIVE:
        return False
    return pod.name == pod_name(run) or (status.pod is not None and status.pod.uid == pod.uid)


def unsettled(snapshot: Snapshot, pods: Iterable[Pod], plan: WorkflowPlan) -> tuple[frozenset[str], WorkflowPlan]:
    """Which of these pods, by uid, wait for the archive, and the plan with the question and the next moment."""
    waiting = tuple(sorted(pod.uid for pod in pods if _waits(snapshot, pod)))
    if not waiting:
        return frozenset(), plan
    question = ConfirmLogs(snapshot.workflow.metadata.namespace, waiting)
    match snapshot.known.get(question):
        case SettledLogs(settled):
            open_ = frozenset(waiting) - settled
            again_at = earliest([plan.again_at, snapshot.now + _ARCHIVE_INTERVAL if open_ else None])
            return open_, replace(plan, again_at=again_at)
        case _:
            return frozenset(waiting), replace(plan, needs=(*plan.needs, question))


def hold_workflow(snapshot: Snapshot, plan: WorkflowPlan) -> WorkflowPlan:
    """The plan without the deletion of the Workflow, which would delete its pods, while a log is not settled."""
    if not any(isinstance(action, DeleteWorkflow) for action in plan.actions):
        return plan
    ended = (pod for pods in snapshot.pods.values() for pod in pods if pod.terminal)
    waiting, plan = unsettled(snapshot, ended, plan)
    if not waiting:
        return plan
    kept = tuple(action for action in plan.actions if not isinstance(action, DeleteWorkflow))
    return replace(plan, actions=kept)


def _waits(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the archive may still be reading the log."""
    if snapshot.archive is None or pod.ended_at + GRACE <= snapshot.now:
        return False
    return (snapshot.workflow.spec.logs or LogMode.ALL).keeps(failed=pod.exit_code != 0)
