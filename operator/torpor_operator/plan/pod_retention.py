"""How long the pods of a run stay after they have ended: their logs can be read until then. Pure.

A pod that has ended holds no resources but its object and its log on the node. Nobody else removes it before its
Workflow goes, which may be never.
"""

from collections.abc import Iterator
from dataclasses import replace

from torpor_api.models.taskrun import TaskRun
from torpor_wire import times
from torpor_wire.state import State

from torpor_operator.model.actions import Plan
from torpor_operator.model.pod import Pod, name_of
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import soonest

_PAUSE = 1.0
"""Seconds until the next batch: pods that ended together must not all be deleted at once."""
_CURRENT = frozenset({State.SCHEDULED, State.RUNNING})


def of(snapshot: Snapshot, made: Plan) -> Plan:
    """The plan with the removal of pods that have been kept for their time, some at a time."""
    if snapshot.workflow.metadata.deletion_timestamp is not None:
        return made  # the garbage collector removes them
    asked = snapshot.workflow.spec.pods_ttl
    ttl = snapshot.settings.pods_ttl if asked is None else times.seconds(asked)
    # Of ten thousand pods none is due as a rule: each plan goes through them once and sorts those alone that are.
    due, later = list[Pod](), float("inf")
    for pod in _ended(snapshot):
        if pod.ended_at + ttl <= snapshot.now:
            due.append(pod)
        else:
            later = min(later, pod.ended_at + ttl)
    batch = sorted(due, key=lambda pod: (pod.ended_at, pod.name))[: snapshot.settings.batch]
    next_at = later if later < float("inf") else None
    again_at = soonest([made.again_at, next_at, snapshot.now + _PAUSE if len(due) > len(batch) else None])
    return replace(made, actions=(*made.actions, *(step.delete(pod) for pod in batch)), again_at=again_at)


def _ended(snapshot: Snapshot) -> Iterator[Pod]:
    """Pods that nobody needs any more: they have ended, and their outcome is stored."""
    for run in snapshot.taskruns.values():
        for pod in snapshot.pods.get(run.metadata.uid, ()):
            if pod.terminal and not pod.held and not pod.deleting and not _is_current(run, pod):
                yield pod


def _is_current(run: TaskRun, pod: Pod) -> bool:
    """Whether what became of the pod is still to be read off it."""
    status = run.status
    if status.state not in _CURRENT:
        return False
    return pod.name == name_of(run) or (status.pod is not None and status.pod.uid == pod.uid)
