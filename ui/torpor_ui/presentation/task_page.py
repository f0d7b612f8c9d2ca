"""The page of one instance: attempts, history, arguments, result, causes, Events and YAML, as JSON. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from torpor_client.runs import run_files
from torpor_views import json_fields, links, timeline, why
from torpor_views.facts import Facts, PodFacts
from torpor_views.instance import InstanceView
from torpor_views.json_fields import Fields, text
from torpor_views.model import RunView
from torpor_views.timeline import TimelineInterval, TimelinePhase
from torpor_wire.state import State

from torpor_ui.presentation import approval_list, instances, keys, run_page
from torpor_ui.presentation.keys import RunKey

Json = dict[str, Any]
EVENTS_MAX = 200
_INLINE_MAX = 16 * 1024
_YAML_MAX = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSources:
    """What the page of an instance is built from. `events` are those on its TaskRun and its pods.

    `archived`: whether its run comes from the archive.
    """

    run: RunView
    taskrun: Mapping[str, Any]
    facts: Facts = field(default_factory=Facts)
    pods: Sequence[Mapping[str, Any]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    now: float = 0.0
    archived: bool = False


def build(sources: TaskSources) -> Json:
    """Return the page of an instance. Never raises for the content of objects."""
    view = InstanceView.parse(sources.taskrun)
    status, spec = (json_fields.fields(sources.taskrun.get(part)) for part in ("status", "spec"))
    pods = [PodFacts.parse(pod) for pod in sources.pods]
    nodes = {pod.name: pod.node for pod in pods}
    created = {pod.name: pod.created for pod in pods if pod.created is not None}
    intervals = timeline.row(view, now=sources.now, pods=created).intervals
    task = sources.run.task(view.task)
    causes = why.of_instance(sources.run, task, view, sources.facts) if task is not None else ()
    return {
        **instances.as_row(instances.parse(sources.taskrun), nodes),
        "attempts": _attempts(view, intervals, nodes),
        "containers": list(task.containers) if task is not None else [],
        "history": [_entry(entry) for entry in json_fields.objects(status.get("history"))],
        "args": {text(arg.get("name")): _argument(arg) for arg in json_fields.objects(spec.get("arguments"))},
        "result": _result(status),
        "files": [
            {"name": file.name, "kind": file.kind, "size": file.size, "digest": file.digest}
            for file in run_files.stored([sources.taskrun])
        ],
        "inputs": [
            {"name": text(entry.get("name")), "path": text(entry.get("path"))}
            for entry in json_fields.objects(json_fields.fields(spec.get("files")).get("in"))
        ],
        "why": [run_page.cause_json(cause) for cause in causes],
        "trigger": _trigger(view),
        "childRun": _child_run(view, archived=sources.archived),
        "event": json_fields.decoded(status.get("event")),
        "log": text(status.get("log")),
        "podEvents": _events(sources.events),
        "links": [
            {"title": link.name, "url": link.url} for link in links.of_result(json_fields.decoded(status.get("result")))
        ],
        "taskrun": view.name,
        "created": view.created,
        "image": view.image,
        "displayName": view.display_name,
        "retries": view.limit,
        "clears": view.clears,
        "pool": view.pool,
        "yaml": {"taskrun": as_yaml(sources.taskrun), **_pod_yaml(sources.pods)},
    }


def as_yaml(body: Mapping[str, Any]) -> str:
    """Return an object as YAML without its managed fields, cut at a length that a person does not read."""
    metadata = {key: value for key, value in json_fields.fields(body.get("metadata")).items() if key != "managedFields"}
    written = yaml.safe_dump({**body, "metadata": metadata}, sort_keys=False, allow_unicode=True, width=120)
    return written if len(written) <= _YAML_MAX else f"{written[:_YAML_MAX]}\n# cut after {_YAML_MAX} characters\n"


def _attempts(view: InstanceView, intervals: Iterable[TimelineInterval], nodes: Mapping[str, str]) -> list[Json]:
    """The attempts with their segments. A segment begins when it waits for a pod, and ends when the next one begins."""
    attempts: dict[int, dict[tuple[int, int], list[TimelineInterval]]] = {}
    for interval in intervals:
        segments = attempts.setdefault(interval.attempt, {})
        segments.setdefault((interval.segment, interval.launch), []).append(interval)
    return [
        {
            "attempt": attempt,
            "segments": [_segment(view, attempt, parts, nodes) for parts in segments.values()],
        }
        for attempt, segments in attempts.items()
    ]


def _segment(view: InstanceView, attempt: int, parts: list[TimelineInterval], nodes: Mapping[str, str]) -> Json:
    first, last = parts[0], parts[-1]
    held = {TimelinePhase.RUNNING, TimelinePhase.STARTING}
    pod = next((part.detail for part in reversed(parts) if part.phase in held and part.detail), "")
    current = (view.attempt, view.segment, view.launch) == (attempt, first.segment, first.launch)
    return {
        "segment": first.segment,
        "launch": first.launch,
        "pod": pod,
        "node": nodes.get(pod, ""),
        "phase": last.phase,
        "start": first.start,
        "end": None if last.open else last.end,
        "reason": view.reason if current else last.reason,
        "message": json_fields.message_line(view.message) if current else "",
        "intervals": [
            {"phase": part.phase, "start": part.start, "end": None if part.open else part.end, "detail": part.detail}
            for part in parts
        ],
    }


def _entry(entry: Fields) -> Json:
    names = ("attempt", "segment", "launch", "reason", "pod", "trigger", "count", "by", "message")
    return {"at": json_fields.moment(entry.get("at")), "state": text(entry.get("state"))} | {
        name: entry[name] for name in names if isinstance(entry.get(name), str | int)
    }


def _argument(argument: Fields) -> Any:
    """The value of an argument, or where the worker reads it."""
    if isinstance(argument.get("value"), str):
        return json_fields.decoded(argument["value"])
    source = json_fields.fields(argument.get("from"))
    return {"from": dict(source)} if source else None


def _result(status: Fields) -> Json:
    stored = json_fields.fields(status.get("stored"))
    if stored:
        names = ("length", "name", "keys")
        described = {name: stored[name] for name in names if stored.get(name) is not None}
        size = json_fields.number(stored.get("size"))
        return {"present": True, "size": size, "type": text(stored.get("type")), "where": "archive", **described}
    written = status.get("result")
    if not isinstance(written, str):
        return {"present": False, "size": 0, "type": "", "where": "inline"}
    value = json_fields.decoded(written[:_INLINE_MAX])
    size = len(written.encode("utf-8", "replace"))
    return {"present": True, "size": size, "type": _type(value), "where": "inline", "inline": value}


def _type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case dict():
            return "object"
        case _:
            return "null"


def _trigger(view: InstanceView) -> Json | None:
    trigger = view.trigger
    if trigger is None:
        return None
    return {
        "class": trigger.class_name,
        "kwargs": json_fields.decoded(trigger.kwargs),
        "deadline": view.deadline,
        "shard": trigger.shard,
        "pool": view.trigger_pool,
        "waitsFor": json_fields.one_line(trigger.waits_for),
        "form": approval_list.form_json(trigger),
        "approvers": {"users": list(trigger.users), "groups": list(trigger.groups)},
    }


def _child_run(view: InstanceView, *, archived: bool) -> Json | None:
    """The run that the last attempt has started, with its key. The archive has runs by their uid, which is unknown."""
    name = view.child_run
    if not keys.is_name(name) or view.state is State.SCHEDULED:
        return None
    return {"name": name, "key": None if archived else str(RunKey("live", view.namespace, name))}


def _events(events: Iterable[Fields]) -> list[Json]:
    """The Events of the TaskRun and its pods, the latest first."""
    shown = [_event(event) for event in events]
    return sorted(shown, key=lambda event: -(event["time"] or 0.0))[:EVENTS_MAX]


def _event(event: Fields) -> Json:
    regarding = json_fields.fields(event.get("regarding"))
    series = json_fields.fields(event.get("series"))
    moments = (series.get("lastObservedTime"), event.get("deprecatedLastTimestamp"), event.get("eventTime"))
    created = json_fields.fields(event.get("metadata")).get("creationTimestamp")
    count = json_fields.number(series.get("count")) or json_fields.number(event.get("deprecatedCount"), 1)
    return {
        "time": next((at for value in (*moments, created) if (at := json_fields.moment(value)) is not None), None),
        "type": text(event.get("type")),
        "reason": text(event.get("reason")),
        "message": json_fields.message_line(event.get("note")),
        "pod": text(regarding.get("name")) if regarding.get("kind") == "Pod" else "",
        "count": max(count, 1),
    }


def _pod_yaml(pods: Sequence[Mapping[str, Any]]) -> Json:
    latest = max(pods, key=_created, default=None)
    return {} if latest is None else {"pod": as_yaml(latest)}


def _created(pod: Mapping[str, Any]) -> str:
    return text(json_fields.fields(pod.get("metadata")).get("creationTimestamp"))
