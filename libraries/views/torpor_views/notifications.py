"""The notifications of a run: what was sent to whom, and what was not. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from torpor_views import json_fields
from torpor_views.json_fields import Fields, moment, read_from, text


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationView:
    """A notification of the status. `reason` and the newest `message` are those of its TaskRun, if that was given."""

    notify: str = read_from("notify", text)
    event: str = read_from("event", text)
    state: str = read_from("state", text)
    taskrun: str = read_from("taskrun", text)
    time: float | None = read_from("time", moment)
    message: str = read_from("message", text)
    reason: str = ""
    waits_for: str = ""


def parse_notifications(workflow: Fields, taskruns: Iterable[Fields]) -> tuple[NotificationView, ...]:
    """Return the notifications of a Workflow, the oldest first."""
    sending = {text(json_fields.fields(run.get("metadata")).get("name")): run for run in taskruns}
    listed = json_fields.objects(json_fields.fields(workflow.get("status")).get("notifications"))
    views = (NotificationView(**json_fields.read(NotificationView, entry)) for entry in listed)
    return tuple(_current(view, sending.get(view.taskrun)) for view in views)


def _current(view: NotificationView, taskrun: Fields | None) -> NotificationView:
    status = json_fields.fields(taskrun.get("status")) if taskrun else {}
    waits_for = text(json_fields.fields(status.get("trigger")).get("waitsFor"))
    message = text(status.get("message")) or view.message
    return replace(view, message=message, reason=text(status.get("reason")), waits_for=waits_for)


def is_notification(taskrun: Fields) -> bool:
    """Return whether a TaskRun sends a notification, and is no instance of a task."""
    return bool(json_fields.fields(json_fields.fields(taskrun.get("spec")).get("notification")))


def status_lines(workflow: Fields) -> Iterator[str]:
    """Yield a line for each notification of the status."""
    listed = json_fields.fields(workflow.get("status")).get("notifications")
    for entry in map(json_fields.fields, listed if isinstance(listed, list) else ()):
        message = json_fields.message_line(str(entry.get("message") or ""))
        state = f"{entry.get('state')}{f': {message}' if message else ''}"
        yield f"notification {entry.get('notify')} of {entry.get('event')}: {state}"


def message_lines(taskruns: Iterable[Fields]) -> Iterator[str]:
    """Yield what the notifications of a local run say, which sends none of them."""
    for taskrun in filter(is_notification, taskruns):
        spec = json_fields.fields(taskrun.get("spec"))
        about, trigger = json_fields.fields(spec.get("notification")), json_fields.fields(spec.get("trigger"))
        kwargs = _kwargs(trigger.get("kwargs"))
        title, text = kwargs.get("title") or kwargs.get("subject") or "", kwargs.get("text") or ""
        said = json_fields.message_line(f"{title}: {text}" if text else str(title))
        yield f"notification {about.get('notify')} of {about.get('event')}, not sent: {said}"


def _kwargs(text: object) -> Fields:
    try:
        return json_fields.fields(json.loads(str(text)))
    except (ValueError, RecursionError):
        return {}
