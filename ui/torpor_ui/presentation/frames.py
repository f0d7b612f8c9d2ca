"""The events of the stream of a run: a snapshot, and deltas of what has changed since. And its timeline. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_ui.encoding import encode
from torpor_ui.presentation import instances
from torpor_ui.presentation.instances import CachedInstance
from torpor_ui.presentation.run_page import RunPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A state of a run. `nodes`: nodes of pods by name. `more`: further members of the event."""

    page: RunPage
    nodes: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def snapshot(frame: Frame, chosen: Iterable[CachedInstance]) -> bytes:
    """Return the event `snapshot`."""
    page = frame.page
    head = {"run": page.head, "tasks": page.tasks, "groups": page.groups, "edges": page.edges, **frame.more}
    return _with_instances(head, chosen, frame.nodes)


def delta(frame: Frame, before: Frame, changed: Sequence[CachedInstance], gone: Sequence[str]) -> bytes | None:
    """Return the event `delta`; None if nothing has changed that the page shows."""
    body = {name: value for name, value in frame.more.items() if value != before.more.get(name)}
    page = frame.page
    if page is not before.page:
        if page.head != before.page.head:
            body["run"] = page.head
        known = {task["name"]: task for task in before.page.tasks}
        if tasks := [task for task in page.tasks if task != known.get(task["name"])]:
            body["tasks"] = tasks
    if gone:
        body["gone"] = list(gone)
    if changed:
        return _with_instances(body, changed, frame.nodes)
    return encode(body) if body else None


def timeline(began: float | None, ended: float, chosen: Iterable[CachedInstance]) -> bytes:
    """Return the intervals of instances, to lay them over those of another run. Encoded row by row, as kept."""
    start = encode({"start": began, "end": ended})[:-1]
    return start + b',"rows":[' + b",".join(map(_timeline_row, chosen)) + b"]}"


def _timeline_row(instance: CachedInstance) -> bytes:
    view = instance.view
    row = {"key": instance.key, "label": view.display_name or view.ref, "task": view.task}
    return encode(row)[:-1] + b',"intervals":' + instance.intervals.encode("utf-8", "replace") + b"}"


def _with_instances(body: Mapping[str, Any], chosen: Iterable[CachedInstance], nodes: Mapping[str, str]) -> bytes:
    start = encode(body)[:-1] + (b"," if body else b"")
    return b"".join((start, b'"instances":', *instances.encoded(chosen, nodes), b"}"))
