"""The instances of a run as columns: what the timeline, the grid and the graph show of each. Pure.

An instance is kept without its history, which is most of its memory. What the page shows of the history are intervals;
they are kept as JSON and go into events unchanged.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from torpor_views import json_fields, timeline, tones
from torpor_views.instance import InstanceView
from torpor_wire import names
from torpor_wire.state import State

from torpor_ui.encoding import encode

COLUMNS = (
    *("key", "task", "label", "state", "tone", "reason", "message", "attempt", "segment", "launch"),
    *("started", "ended", "duration", "node", "pod", "waitClass", "waitUntil", "intervals"),
)
_MESSAGE_MAX = 300
_PIECE = 500
_REPEATED = (
    *("namespace", "workflow", "workflow_uid", "task", "pool", "trigger_pool", "service_account"),
    *("image", "source", "kind", "word", "code_hash", "reason"),
)
"""Fields whose words many instances have."""


class Interval(NamedTuple):
    """An interval of the timeline, in the order of its JSON. `end` is None while it goes on."""

    phase: str
    start: float
    end: float | None
    detail: str
    attempt: int
    segment: int
    launch: int
    reason: str


class CachedInstance:
    """A TaskRun as it is kept: what the views need, and its intervals as JSON."""

    __slots__ = ("__weakref__", "intervals", "view")

    def __init__(self, view: InstanceView, intervals: str) -> None:
        self.view = view
        self.intervals = intervals

    @property
    def key(self) -> str:
        """What the page calls the instance: `task` or `task/0/2`."""
        return key_of(self.view)


def parse(body: Mapping[str, Any]) -> CachedInstance:
    """Return what a TaskRun shows. Never raises for its content."""
    view = InstanceView.parse(body)
    row = timeline.row(view, now=0.0)
    intervals = [
        Interval(
            phase=each.phase,
            start=_rounded(each.start),
            end=None if each.open else _rounded(each.end),
            detail=each.detail,
            attempt=each.attempt,
            segment=each.segment,
            launch=each.launch,
            reason=each.reason,
        )
        for each in row.intervals
    ]
    return CachedInstance(_slim(view), json.dumps(intervals, ensure_ascii=False, separators=(",", ":")))


def key_of(view: InstanceView) -> str:
    """Return what the page calls an instance."""
    return "/".join((view.task, *map(str, view.path)))


def intervals_of(instance: CachedInstance) -> list[Interval]:
    """Return the intervals of an instance."""
    return [Interval(*values) for values in json.loads(instance.intervals)]


def encoded(instances: Iterable[CachedInstance], nodes: Mapping[str, str]) -> Iterator[bytes]:
    """Yield `COLUMNS` as one JSON object in pieces. `nodes`: the nodes of pods, by name."""
    chosen = list(instances)
    rows = [_values(instance.view, nodes) for instance in chosen]
    yield b"{"
    for number, name in enumerate(COLUMNS[:-1]):
        yield b'"%s":' % name.encode()
        yield encode([row[number] for row in rows]) + b","
    yield b'"intervals":['
    for start in range(0, len(chosen), _PIECE):
        piece = ",".join(instance.intervals for instance in chosen[start : start + _PIECE])
        yield (("," if start else "") + piece).encode("utf-8", "replace")
    yield b"]}"


def as_row(instance: CachedInstance, nodes: Mapping[str, str]) -> dict[str, Any]:
    """Return one instance as an object with the names of `COLUMNS`."""
    values = [*_values(instance.view, nodes), json.loads(instance.intervals)]
    return dict(zip(COLUMNS, values, strict=True))


def _values(view: InstanceView, nodes: Mapping[str, str]) -> list[Any]:
    trigger = view.trigger if view.state is State.DEFERRED else None
    pod = _pod(view)
    ended = None if view.started is None or view.completed is None else max(view.completed - view.started, 0.0)
    return [
        *(key_of(view), view.task, view.display_name or view.ref, view.word, tones.of_instance(view)),
        *(view.reason, json_fields.one_line(view.message, _MESSAGE_MAX), view.attempt, view.segment, view.launch),
        *(view.started, view.completed, ended, nodes.get(pod, ""), pod),
        *(trigger.class_name if trigger else "", _wait_until(view)),
    ]


def _wait_until(view: InstanceView) -> float | None:
    match view.state:
        case State.DEFERRED:
            return (view.trigger.moment if view.trigger else None) or view.deadline
        case State.UP_FOR_RETRY:
            return view.retry_at
        case _:
            return None


def _pod(view: InstanceView) -> str:
    """The pod of the present or last segment; none for a wait that has never had one."""
    if view.pod:
        return view.pod
    started = view.state in {State.SCHEDULED, State.RUNNING}
    return names.pod(view.name, view.attempt, view.segment, view.launch) if started and view.name else ""


def _slim(view: InstanceView) -> InstanceView:
    """The view without its history, and with one copy of each word that many instances have."""
    shared: dict[str, Any] = {name: sys.intern(str(getattr(view, name))) for name in _REPEATED}
    return replace(view, raw_history=(), **shared)


def _rounded(moment: float) -> float:
    return round(moment, 3)
