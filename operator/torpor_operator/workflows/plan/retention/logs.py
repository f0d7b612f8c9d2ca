"""Keeps an ended pod until the archive has read its log, for a limited time. Pure.

The log of a pod is deleted with it. Only the deletion waits: a retry or a resume starts its own pod at once.
"""

from collections.abc import Iterable
from dataclasses import replace

from torpor_operator.model.actions import ConfirmLogs, DeleteWorkflow, WorkflowPlan
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import SettledLogs, Snapshot
from torpor_operator.taskrun.step import earliest

GRACE = 30.0
"""Seconds after its end for which a pod waits."""
_INTERVAL = 1.0
"""Seconds until the archive is asked again."""


def unsettled(snapshot: Snapshot, pods: Iterable[Pod], made: WorkflowPlan) -> tuple[frozenset[str], WorkflowPlan]:
    """Which of these pods, by uid, wait for the archive, and the plan with the question and the next moment."""
    waiting = tuple(sorted(pod.uid for pod in pods if _waits(snapshot, pod)))
    if not waiting:
        return frozenset(), made
    question = ConfirmLogs(snapshot.workflow.metadata.namespace, waiting)
    match snapshot.known.get(question):
        case SettledLogs(settled):
            open_ = frozenset(waiting) - settled
            again_at = earliest([made.again_at, snapshot.now + _INTERVAL if open_ else None])
            return open_, replace(made, again_at=again_at)
        case _:
            return frozenset(waiting), replace(made, needs=(*made.needs, question))


def hold_workflow(snapshot: Snapshot, made: WorkflowPlan) -> WorkflowPlan:
    """The plan without the deletion of the Workflow, which would delete its pods, while a log is not settled."""
    if not any(isinstance(action, DeleteWorkflow) for action in made.actions):
        return made
    ended = (pod for pods in snapshot.pods.values() for pod in pods if pod.terminal)
    waiting, asked = unsettled(snapshot, ended, made)
    if not waiting:
        return asked
    kept = tuple(action for action in asked.actions if not isinstance(action, DeleteWorkflow))
    return replace(asked, actions=kept)


def _waits(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the archive may still be reading the log."""
    if snapshot.archive is None or pod.ended_at + GRACE <= snapshot.now:
        return False
    return snapshot.workflow.spec.logs.keeps(failed=pod.exit_code != 0)
