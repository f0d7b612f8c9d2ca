"""The environment of a container task: its identity, the protocol, and what it resumes with (ADR 0038). Pure."""

import json
from typing import Any

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import canonical, constants, deadline, instance_paths, times, typed_json


def identity(taskrun: TaskRun) -> list[dict[str, Any]]:
    """The identity of the instance, as `context()` returns it to a function, and where it may write its outcome."""
    metadata, spec, status = taskrun.metadata, taskrun.spec, taskrun.status
    values = {
        constants.ENV_WORKFLOW: spec.owner.name,
        constants.ENV_TASK: spec.task,
        constants.ENV_INDEX: instance_paths.written(spec.path),
        constants.ENV_TASKRUN: metadata.name,
        constants.ENV_TASKRUN_UID: metadata.uid,
        constants.ENV_NAMESPACE: metadata.namespace,
        constants.ENV_ATTEMPT: str(status.attempt),
        constants.ENV_SEGMENT: str(status.segment),
        constants.ENV_IDEMPOTENCY_KEY: f"{metadata.uid}-{status.segment}",
    }
    if spec.container is not None and spec.container.writes_documents:
        values |= {constants.ENV_PROTOCOL: str(constants.PROTOCOL), constants.ENV_OUTCOME: constants.TERMINATION_LOG}
    own = [{"name": name, "value": value} for name, value in values.items()]
    return [*own, outcome_max()] if constants.ENV_OUTCOME in values else own


def outcome_max() -> dict[str, Any]:
    """The variable with the share of the termination messages, which is known once the pod exists."""
    place = f"metadata.annotations['{constants.OUTCOME_MAX}']"
    return {"name": constants.ENV_OUTCOME_MAX, "valueFrom": {"fieldRef": {"fieldPath": place}}}


def of_segment(taskrun: TaskRun, now: float) -> list[dict[str, Any]]:
    """What a segment starts with: deadline, event and state. The TaskRun must be a complete one, not a cached one.

    Before the first claim the deadline counts from `now`, so it is at most the real one.
    """
    status = taskrun.status
    values = {constants.ENV_DEADLINE: _deadline(taskrun, now)}
    if status.segment > 0:
        values |= {
            constants.ENV_EVENT: None if status.event is None else _plain(status.event),
            constants.ENV_STATE: "null" if status.next is None else status.next.kwargs,
            constants.ENV_TIMED_OUT: "true" if status.timed_out else None,
        }
    return [{"name": name, "value": literal(value)} for name, value in values.items() if value is not None]


def arguments(taskrun: TaskRun) -> list[dict[str, Any]]:
    """The arguments: strings unchanged, other values as JSON text."""
    values = {argument.name: argument.value or "null" for argument in taskrun.spec.arguments}
    return [{"name": name, "value": literal(_text(text))} for name, text in values.items()]


def literal(value: str) -> str:
    """The value with each `$` doubled, because Kubernetes expands `$(NAME)` in values and reads `$$` as one `$`."""
    return value.replace("$", "$$")


def _deadline(taskrun: TaskRun, now: float) -> str | None:
    spec, status = taskrun.spec, taskrun.status
    paused = 0.0 if spec.timeout_while_deferred else status.deferred_seconds or 0.0
    due = deadline.attempt_deadline(status.started_at or times.rfc3339(now), spec.timeout, paused=paused)
    return None if due is None else times.rfc3339(due)


def _plain(event: str) -> str:
    """The event as JSON without the types of Python."""
    try:
        return canonical.plain(typed_json.readable(json.loads(event)))
    except (ValueError, RecursionError):  # another client wrote the status
        return event


def _text(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # another client created the TaskRun
        return text
    return value if isinstance(value, str) else text
