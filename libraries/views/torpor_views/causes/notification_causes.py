"""Why people were not told of a run: its notifications that failed, and those that have not arrived yet. Pure."""

from torpor_wire import times
from torpor_wire.enums import NotificationState

from torpor_views import json_fields
from torpor_views.causes import commands
from torpor_views.causes.cause import Cause, CauseKind, Urgency, quoted, sentence
from torpor_views.model import RunView
from torpor_views.notifications import NotificationView
from torpor_views.waiting.wait_progress import WaitProgress

_SENT_FOR = 24 * 3600 + 600.0
"""A notification is sent again for a day. An older one whose state is pending is of a run that was archived before."""


def of_run(run: RunView) -> tuple[Cause, ...]:
    """Return a cause for each notification that has not arrived, the oldest first."""
    causes = (_cause(run, each) for each in run.notifications)
    return tuple(cause for cause in causes if cause is not None)


def _cause(run: RunView, notification: NotificationView) -> Cause | None:
    match notification.state:
        case NotificationState.FAILED:
            detail = f"has failed: {quoted(notification.reason, notification.message) or 'its TaskRun is gone'}"
            return _of(run, notification, CauseKind.NOTIFICATION_FAILED, Urgency.ACT, detail)
        case NotificationState.PENDING if notification.time is None or run.now - notification.time < _SENT_FOR:
            return _of(run, notification, CauseKind.NOTIFICATION_PENDING, Urgency.WAIT, _pending(run, notification))
        case _:
            return None


def _pending(run: RunView, notification: NotificationView) -> str:
    progress = WaitProgress.parse(notification.message, notification.waits_for)
    look = progress.look or json_fields.message_line(notification.message)
    since = "" if notification.time is None else f" for {times.human(max(run.now - notification.time, 0.0))}"
    return f"has not arrived{since}" + (f": {look}" if look else "")


def _of(run: RunView, notification: NotificationView, kind: CauseKind, urgency: Urgency, detail: str) -> Cause:
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=sentence("Notification", f"{notification.notify} of {notification.event}", detail),
        taskrun=notification.taskrun,
        reason=notification.reason,
        command=commands.describe(run, "taskrun", notification.taskrun),
        since=notification.time,
    )
