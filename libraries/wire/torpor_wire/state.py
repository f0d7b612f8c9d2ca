"""The states of a TaskRun and the allowed transitions.

The admission policy, the operator, the triggerer and the worker all use this table. `transitions` defines
what each transition sets and clears.
"""

from enum import StrEnum


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
        (State.UP_FOR_RETRY, State.CANCELLED),
    }
)

MARK_EDGES = frozenset({(State.SCHEDULED, State.SUCCEEDED), (State.SCHEDULED, State.SKIPPED)})
"""Transitions of marked TaskRuns only, which never run (ADR 0052)."""

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
