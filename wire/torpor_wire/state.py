"""The states of a TaskRun and the only edges between them.

One table, read by the CRD's transition rule, the admission policy, the operator, the triggerer and the worker, so that
no two of them can disagree on what is legal. It says nothing about what an edge sets or clears: see `edge`.
"""

from enum import StrEnum


class State(StrEnum):
    """Where a TaskRun stands (design: one state machine, every transition a compare-and-set)."""

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
        (State.UP_FOR_RETRY, State.CANCELLED),
    }
)

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
"""What a task pod may write on its own TaskRun."""

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
"""What the triggerer of a TaskRun's pool may write."""


def terminal(state: str) -> bool:
    """Whether no edge leads out of this state."""
    return state in TERMINAL
