"""The notifications of a run as lines: what was sent to whom, and what was not. Pure."""

import json
from collections.abc import Iterable, Iterator

from torpor_views import json_fields
from torpor_views.json_fields import Fields


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
