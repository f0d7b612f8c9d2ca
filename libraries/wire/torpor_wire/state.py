"""The states of a TaskRun, a task and a run, and the allowed transitions of a TaskRun.

The admission policy, the operator, the triggerer and the worker all use this table. `transitions` defines
what each transition sets and clears.
"""

from enum import StrEnum

from torpor_wire import text
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason


class State(StrEnum):
    """The state of a TaskRun. Each transition is a status patch with preconditions."""

    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    DEFERRED = "Deferred"
    UP_FOR_RETRY = "UpForRetry"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SKIPPED = "Skipped"
    CANCELLED = "Cancelled"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.SKIPPED, State.CANCELLED})

EDGES: frozenset[tuple[State, State]] = frozenset(
    {
        (State.SCHEDULED, State.RUNNING),
        (State.SCHEDULED, State.DEFERRED),
        (State.SCHEDULED, State.SCHEDULED),
        (State.SCHEDULED, State.UP_FOR_RETRY),
        (State.SCHEDULED, State.FAILED),
        (State.SCHEDULED, State.CANCELLED),
        (State.SCHEDULED, State.SUCCEEDED),
        (State.SCHEDULED, State.SKIPPED),
        (State.RUNNING, State.DEFERRED),
        (State.RUNNING, State.SCHEDULED),
        (State.RUNNING, State.SUCCEEDED),
        (State.RUNNING, State.UP_FOR_RETRY),
        (State.RUNNING, State.FAILED),
        (State.RUNNING, State.SKIPPED),
        (State.RUNNING, State.CANCELLED),
        (State.DEFERRED, State.SCHEDULED),
        (State.DEFERRED, State.SUCCEEDED),
        (State.DEFERRED, State.UP_FOR_RETRY),
        (State.DEFERRED, State.FAILED),
        (State.DEFERRED, State.SKIPPED),
        (State.DEFERRED, State.CANCELLED),
        (State.UP_FOR_RETRY, State.SCHEDULED),
        (State.UP_FOR_RETRY, State.FAILED),
        (State.UP_FOR_RETRY, State.CANCELLED),
    }
)

MARK_EDGES = frozenset({(State.SCHEDULED, State.SUCCEEDED), (State.SCHEDULED, State.SKIPPED)})
"""Transitions of marked TaskRuns only, which never run (ADR 0052)."""

START_EDGE = (State.SCHEDULED, State.SUCCEEDED)
"""The transition of a TaskRun that starts a run and does not wait for it (ADR 0073)."""

POD_EDGES = frozenset(
    {
        (State.SCHEDULED, State.RUNNING),
        (State.RUNNING, State.DEFERRED),
        (State.RUNNING, State.SUCCEEDED),
        (State.RUNNING, State.UP_FOR_RETRY),
        (State.RUNNING, State.FAILED),
        (State.RUNNING, State.SKIPPED),
    }
)
"""Transitions that a task pod may write on its own TaskRun."""

TRIGGERER_EDGES = frozenset(
    {
        (State.DEFERRED, State.SCHEDULED),
        (State.DEFERRED, State.SUCCEEDED),
        (State.DEFERRED, State.UP_FOR_RETRY),
        (State.DEFERRED, State.FAILED),
        (State.DEFERRED, State.SKIPPED),
        (State.DEFERRED, State.CANCELLED),
    }
)
"""Transitions that the triggerers of a TaskRun's pool may write."""


def terminal(state: str) -> bool:
    """Whether the state is final."""
    return state in TERMINAL


class TaskState(StrEnum):
    """State of a task over all its instances."""

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


TASK_ENDED = frozenset(
    {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
)
"""States of a task that has ended."""
TASK_BROKEN = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED})
"""States of a task that ended without success."""
RUN_ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED})
"""States of a run that has ended."""

CONDITION = "Succeeded"
"""The condition that a TaskRun has from its end. Before, `status.state` says everything that it could say."""
CONDITION_STATUS = {
    State.SUCCEEDED: "True",
    State.SKIPPED: "True",  # with reason Skipped, so `kubectl wait --for=condition=Succeeded` ends (ADR 0015)
    State.FAILED: "False",
    State.CANCELLED: "False",
}
"""The status of the condition in each terminal state. Policy torpor-status enforces it."""


def succeeded_condition(state: State, *, completed: str, reason: str | None, message: str | None) -> dict[str, Json]:
    """Return the `Succeeded` condition of a terminal state. `completed` is an RFC 3339 time."""
    return {
        "type": CONDITION,
        "status": CONDITION_STATUS[state],
        "reason": reason or (Reason.SUCCEEDED if state is State.SUCCEEDED else state),
        "message": text.printable(message) if message else "",
        "lastTransitionTime": completed,
    }
