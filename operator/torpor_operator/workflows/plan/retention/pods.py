"""Deletes the pods of a run some time after they have ended; their logs can be read until then. Pure.

A pod that has ended keeps only its object and its log on the node. Otherwise it stays until its Workflow is deleted,
which may be never.
"""

from collections.abc import Iterator
from dataclasses import replace

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.state import State

from torpor_operator.model.actions import WorkflowPlan
from torpor_operator.model.pod import Pod, pod_name
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.settings import Settings
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import earliest
from torpor_operator.workflows.plan.retention import logs

_BATCH_INTERVAL = 1.0
"""Seconds between batches, so that pods that ended together are not all deleted at once."""
_ACTIVE = frozenset({State.SCHEDULED, State.RUNNING})


def seconds_kept(workflow: Workflow, settings: Settings) -> float:
    """How long the pods of a Workflow are kept after their end."""
    return settings.pods_ttl if workflow.spec.pods_ttl is None else times.seconds(workflow.spec.pods_ttl)


def delete_expired(snapshot: Snapshot, made: WorkflowPlan) -> WorkflowPlan:
    """The plan with the deletion of pods whose TTL has expired, one batch at a time."""
    if snapshot.workflow.metadata.deletion_timestamp is not None:
        return made  # the garbage collector deletes them
    ttl = seconds_kept(snapshot.workflow, snapshot.settings)
    # Usually none of ten thousand pods is due: each plan reads them once and sorts only those that are.
    due, later = list[Pod](), float("inf")
    for pod in _ended(snapshot):
        if pod.ended_at + ttl <= snapshot.now:
            due.append(pod)
        else:
            later = min(later, pod.ended_at + ttl)
    batch = sorted(due, key=lambda pod: (pod.ended_at, pod.name))[: snapshot.settings.batch]
    waiting, made = logs.unsettled(snapshot, batch, made)
    next_at = later if later < float("inf") else None
    again_at = earliest([made.again_at, next_at, snapshot.now + _BATCH_INTERVAL if len(due) > len(batch) else None])
    return replace(
        made, actions=(*made.actions, *(step.delete(pod) for pod in batch if pod.uid not in waiting)), again_at=again_at
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
