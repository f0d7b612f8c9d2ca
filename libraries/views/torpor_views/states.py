"""States of a task and of a run, as the Workflow status has them. `torpor_wire.state` has those of a TaskRun."""

from enum import StrEnum


class TaskState(StrEnum):
    """State of a task over all its instances; equal to `torpor_crds.models.workflow.TaskState`."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SKIPPED = "Skipped"
    UPSTREAM_FAILED = "UpstreamFailed"
    CANCELLED = "Cancelled"


class RunState(StrEnum):
    """State of a run. `PENDING`: the operator has not written a status yet."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    FINISHING = "Finishing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Rule(StrEnum):
    """Trigger rule of a task; equal to `torpor_crds.models.task.Rule`."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALWAYS = "always"


ENDED = frozenset(
    {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
)
"""States of a task that has ended."""
BROKEN = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED})
"""States of a task that ended without success."""
RUN_ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED})
"""States of a run that has ended."""
