"""A cause: one sentence that says why something does not run, and the command that helps. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from torpor_wire import times

from torpor_views import json_fields
from torpor_views.causes import commands
from torpor_views.model import InstanceView

_SENTENCE_MAX = 2000


class Urgency(StrEnum):
    """Whether a person has to do something."""

    ACT = "act"
    """Yes: it does not go on by itself."""
    WAIT = "wait"
    """No: it goes on by itself when what it waits for happens."""
    DONE = "done"
    """No: it runs, or it has ended as it should."""


class CauseKind(StrEnum):
    """What keeps a run, a task or an instance from running. docs/how-to/find-out-why.md explains each."""

    # of a run
    NOT_SEEN = "NotSeen"
    SUSPENDED = "Suspended"
    QUARANTINED = "Quarantined"
    NAMESPACE_NOT_READY = "NamespaceNotReady"
    TEMPLATE_NOT_FOUND = "TemplateNotFound"
    CREATE_REFUSED = "CreateRefused"
    CANCELLING = "Cancelling"
    FINISHING = "Finishing"
    DELETING = "Deleting"
    CLEARING = "Clearing"
    TIMEOUT_NEAR = "TimeoutNear"
    WORKFLOW_INVALID = "WorkflowInvalid"
    RUN_ENDED = "RunEnded"
    ARCHIVE_UNAVAILABLE = "ArchiveUnavailable"
    NOTIFICATION_FAILED = "NotificationFailed"
    NOTIFICATION_PENDING = "NotificationPending"
    # of a task
    UPSTREAM_OPEN = "UpstreamOpen"
    UPSTREAM_FAILED = "UpstreamFailed"
    HOOK = "Hook"
    SKIPPED = "Skipped"
    TO_BE_CREATED = "ToBeCreated"
    DELETED = "Deleted"
    # slots
    POOL_UNKNOWN = "PoolUnknown"
    POOL_FULL = "PoolFull"
    MAX_ACTIVE = "MaxActive"
    PARALLELISM = "Parallelism"
    # pods
    POD_TO_BE_CREATED = "PodToBeCreated"
    POD_STARTING = "PodStarting"
    FORMER_POD = "FormerPod"
    IMAGE_PULL = "ImagePull"
    START_FAILED = "StartFailed"
    UNSCHEDULABLE = "Unschedulable"
    MOUNT = "Mount"
    POD_PENDING = "PodPending"
    QUOTA = "Quota"
    QUEUE = "Queue"
    NODE_LOST = "NodeLost"
    # waits
    WAITING = "Waiting"
    APPROVAL = "Approval"
    QUEUED = "Queued"
    POOL_UNSERVED = "PoolUnserved"
    FIRE_FORBIDDEN = "FireForbidden"
    LOOP_BLOCKED = "LoopBlocked"
    WAIT_OVERDUE = "WaitOverdue"
    CANCEL_REQUESTED = "CancelRequested"
    # other states of an instance
    BLOCKED = "Blocked"
    BACKING_OFF = "BackingOff"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    ORPHANED = "Orphaned"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why something does not run.

    `ref`: `task` or `task/0.1` as the commands take it; empty for the run. `sentence`: one line of plain English
    without line breaks or control characters. `command`: a shell command that helps, or that shows more; may be empty.
    `reason`: the reason word of the object, if any. `since`, `next_at` (the next look, the next attempt) and
    `deadline` are seconds since the epoch. `others`: how many more instances of the task have the same cause.
    """

    kind: CauseKind
    urgency: Urgency
    sentence: str
    task: str = ""
    ref: str = ""
    taskrun: str = ""
    reason: str = ""
    command: str = ""
    since: float | None = None
    next_at: float | None = None
    deadline: float | None = None
    others: int = 0


def instance_cause(  # noqa: PLR0913 - the parts of a cause
    instance: InstanceView,
    kind: CauseKind,
    urgency: Urgency,
    detail: str,
    command: str,
    *,
    next_at: float | None = None,
    deadline: float | None = None,
) -> Cause:
    """Return a cause of an instance."""
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=sentence("Task", instance.ref, detail),
        task=instance.task,
        ref=instance.ref,
        taskrun=instance.name,
        reason=instance.reason,
        command=command,
        since=instance.completed or instance.fired_at or instance.started_at or instance.created,
        next_at=next_at,
        deadline=deadline,
    )


def sentence(kind: str, name: str, detail: str) -> str:
    """Return `Task load waits.`: one printable line that ends with one period."""
    return f"{json_fields.one_line(f'{kind} {name} {detail}', _SENTENCE_MAX).rstrip('.')}."


def quoted(reason: str, message: str) -> str:
    """Return `Reason: message` as one line, without a command at its end; one of them if the other is missing."""
    line = json_fields.message_line(commands.without_command(message))
    if not line or not reason or line.startswith(reason):
        return line or reason
    return f"{reason}: {line}"


def ago(moment: float | None, now: float) -> str:
    """Return ` for 5m` for a moment in the past; empty without one."""
    return "" if moment is None else f" for {times.human(now - moment)}"


def until(moment: float, now: float) -> str:
    """Return `in 5m`, or `now` for a moment that is over."""
    return f"in {times.human(moment - now)}" if moment - now >= 1 else "now"
