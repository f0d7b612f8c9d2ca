"""The next attempt of a TaskRun in UpForRetry, or its end, if a rule of `retries` allows no other attempt. Pure."""

from torpor_wire import retry, times, transitions

from torpor_operator.model.actions import Evaluate, PatchTaskRun
from torpor_operator.taskrun import retry_rules
from torpor_operator.taskrun.step import Step, TaskRunView


def next_attempt(view: TaskRunView) -> Step:
    """Begin the next attempt at `retryAt`, or fail at once if the policy allows none."""
    metadata, status = view.taskrun.metadata, view.taskrun.status
    due = times.epoch(status.retry_at) if status.retry_at else view.now
    if metadata.creation_timestamp:
        due = max(due, retry.earliest_start(status.attempt + 1, times.epoch(metadata.creation_timestamp)))
    refused = retry_rules.refusal(view.taskrun, retry_rules.stored_failure(status), due, view.known)
    if isinstance(refused, Evaluate):
        return Step(needs=(refused,))
    if refused:
        message = retry_rules.refused_message(status.message or status.reason or status.state, refused)
        reason = status.reason or status.state
        patch = transitions.end_retries(view.taskrun.pin(), reason=reason, message=message, now=view.now)
        return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))
    if view.now < due:
        return Step(again_at=due)
    first_started = status.first_started_at or status.started_at
    patch = transitions.retry_now(view.taskrun.pin(), now=view.now, first_started=first_started)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))
