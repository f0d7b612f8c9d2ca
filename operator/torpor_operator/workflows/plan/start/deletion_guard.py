"""Decides whether a run needs the finalizer, by which its tasks are cancelled before it is deleted (ADR 0084).

The finalizer costs two writes of the Workflow. A run of plain containers has nothing to cancel: Kubernetes deletes its
TaskRuns and their pods.
"""

from torpor_crds.models.task import Task
from torpor_crds.models.workflow import WorkflowSpec


def needs_finalizer(spec: WorkflowSpec) -> bool:
    """Whether a run of this spec may hold anything but pods at its deletion.

    These are: a wait, whose trigger may have started something; a slot of a pool or a quota, which counts until the pod
    has ended; volumes and files; and, for a run that a TaskRun or a Schedule created, the run that follows it.
    """
    is_followed = spec.parent is not None or spec.run_of is not None
    return is_followed or bool(spec.volume_claims or spec.queue) or any(map(_holds_more_than_pods, spec.tasks))


def _holds_more_than_pods(task: Task) -> bool:
    program = task.container
    if program is None or program.writes_outcomes:
        return True
    return task.pool is not None or task.queue is not None or task.files is not None
