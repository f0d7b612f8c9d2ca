"""Chooses the logs of a run, and explains why there are no lines to show. Pure.

A log is read from the API server while the pod exists, from the archive afterwards.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torpor_views import json_fields
from torpor_views.model import InstanceView, RunView
from torpor_wire import constants
from torpor_wire.enums import LogKind
from torpor_wire.state import State

from torpor_client import errors
from torpor_client.logs import log_text
from torpor_client.logs.pods import container_state, key_of, of_pod
from torpor_client.logs.source import LogSource, Nanoseconds, SourceKey

_FAILED = frozenset({State.FAILED, State.UP_FOR_RETRY})
_PARTIAL = frozenset({"Incomplete", "TooLarge"})
"""Reasons of the archive for a log of which it has a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which logs to show. None and empty mean all.

    `path` may name a group only. `failed`: only attempts that failed. `since`: only logs with lines after it.
    """

    task: str = ""
    path: tuple[int, ...] | None = None
    attempt: int | None = None
    segment: int | None = None
    failed: bool = False
    since: Nanoseconds = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLog:
    """A log that cannot be shown. `reason` is empty if neither the cluster nor the archive knows it."""

    source: LogSource
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSelection:
    """The logs to read, and those that cannot be read."""

    sources: tuple[LogSource, ...] = ()
    missing: tuple[MissingLog, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCandidates:
    """What the cluster and the archive have of a run, as JSON. `tasks`: the names of the run's tasks.

    `objects`: the logs of pods that objects of tasks have created.
    """

    tasks: Sequence[str]
    instances: Sequence[InstanceView]
    pods: Iterable[Mapping[str, Any]] = ()
    archived: Iterable[Mapping[str, Any]] = ()
    objects: Sequence[LogSource] = ()


def select(candidates: LogCandidates, chosen: Filter) -> LogSelection:
    """Return the logs that the filter chooses. A log that both have is read from the API server only."""
    pods = list(candidates.pods)
    own = [source for pod in pods if (source := of_pod(pod, candidates.tasks)) is not None]
    live = [*own, *candidates.objects]
    names = {json_fields.text(json_fields.fields(pod.get("metadata")).get("name")) for pod in pods}
    states = {(instance.task, instance.path): instance for instance in candidates.instances}
    kept, missing = _of_archive(candidates.archived, live, states)
    known = {source.key for source in (*live, *kept, *(each.source for each in missing)) if not source.earlier}
    unknown = [
        MissingLog(source=source, reason="")
        for instance in candidates.instances
        for source in executed(instance)
        if source.key not in known and source.pod not in names  # a claim is known before the status of its container
    ]
    return LogSelection(
        sources=tuple(source for source in (*live, *kept) if chooses(chosen, source, states)),
        missing=tuple(each for each in (*missing, *unknown) if chooses(chosen, each.source, states)),
    )


def not_started(candidates: LogCandidates, chosen: Filter) -> int:
    """Return how many of the pods that the filter chooses have a container that has not started."""
    keys = (key_of(pod, candidates.tasks) for pod in candidates.pods if not container_state(pod.get("status") or {}))
    return sum(key is not None and chooses(chosen, LogSource(key=key)) for key in keys)


def of_archive(item: Mapping[str, Any]) -> LogSource:
    """Return the log of an item of the archive's list."""
    number, text = json_fields.number, json_fields.text
    index = number(item.get("mapIndex"), constants.UNMAPPED)
    groups = tuple(number(group_index) for group_index in json_fields.items(item.get("groupIndexes")))
    key = SourceKey(
        text(item.get("task")),
        groups if index == constants.UNMAPPED else (*groups, index),
        number(item.get("attempt"), 1),
        number(item.get("segment")),
        number(item.get("launch")),
        LogKind.WAIT if item.get("kind") == LogKind.WAIT else LogKind.POD,
    )
    return LogSource(
        key=key,
        start=log_text.nanoseconds_of_text(item.get("started")) or 0,
        end=log_text.nanoseconds_of_text(item.get("ended")),
        pod=text(item.get("pod")),
        id=text(item.get("id")),
        archived=True,
    )


def kept(item: Mapping[str, Any]) -> bool:
    """Whether the archive has the lines of an item."""
    return item.get("state") == "Kept"


def executed(instance: InstanceView) -> Iterable[LogSource]:
    """Return the pods that claimed the instance, according to its history."""
    for entry in instance.history:
        if entry.state is State.RUNNING and entry.count == 1:
            key = SourceKey(instance.task, instance.path, entry.attempt, entry.segment, entry.launch, LogKind.POD)
            yield LogSource(key=key, start=log_text.nanoseconds_of_epoch(entry.at), pod=entry.pod)


def chooses(
    chosen: Filter, source: LogSource, states: Mapping[tuple[str, tuple[int, ...]], InstanceView] | None = None
) -> bool:
    """Whether the filter chooses a log. Without states, `failed` chooses none."""
    key = source.key
    return (
        (not chosen.task or key.task == chosen.task)
        and (chosen.path is None or key.path[: len(chosen.path)] == chosen.path)
        and (chosen.attempt is None or key.attempt == chosen.attempt)
        and (chosen.segment is None or key.segment == chosen.segment)
        and (source.end is None or source.end >= chosen.since)
        and (not chosen.failed or _failed(key, (states or {}).get((key.task, key.path))))
    )


def _of_archive(
    items: Iterable[Mapping[str, Any]],
    live: Sequence[LogSource],
    states: Mapping[tuple[str, tuple[int, ...]], InstanceView],
) -> tuple[list[LogSource], list[MissingLog]]:
    """Return the archived logs and the lost ones, without those of pods that still exist."""
    existing = {source.id for source in live}
    sources: list[LogSource] = []
    missing: list[MissingLog] = []
    for item in items:
        source = _marked(of_archive(item), states)
        if source.id.partition(".")[0] in existing:  # a name of a container may follow the uid
            continue
        if kept(item):
            sources.append(source)
        if not kept(item) or item.get("reason") in _PARTIAL:
            missing.append(MissingLog(source=source, reason=_why(item)))
    return sources, missing


def _marked(source: LogSource, states: Mapping[tuple[str, tuple[int, ...]], InstanceView]) -> LogSource:
    """Mark a log that ended before the present TaskRun was created: a retry has replaced its own."""
    instance = states.get((source.key.task, source.key.path))
    if instance is None or instance.created is None or source.end is None:
        return source
    return replace(source, earlier=source.end < log_text.nanoseconds_of_epoch(instance.created))


def _why(item: Mapping[str, Any]) -> str:
    text = json_fields.text
    words = [text(item.get("reason")), text(item.get("message"))]
    state = "partly kept" if kept(item) else text(item.get("state")).lower() or "not kept"
    return ": ".join([state, *(word for word in words if word)])


def _failed(key: SourceKey, instance: InstanceView | None) -> bool:
    """Whether the attempt failed: a later one began, or the instance is in such a state."""
    return instance is not None and (key.attempt < instance.attempt or instance.state in _FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedLogs:
    """What a user names, without further filters: its logs, its pods that have not started, its instances."""

    selected: LogSelection
    not_started: int
    instances: Sequence[InstanceView]
    archive_read: bool = True


def explained(run: RunView, chosen: Filter, logs: SelectedLogs, options: Sequence[str]) -> str:
    """Return a sentence. Raises UnknownNameError for an attempt that did not take place.

    `options`: the filters as the user wrote them.
    """
    named = f"{run.name}/{chosen.task}" if chosen.task else run.name
    has_logs = bool(logs.selected.sources or logs.selected.missing)
    if has_logs and options:
        _check_attempt(chosen, named, logs.instances)
        return f"no line of {named} matches {' '.join(options)}"
    if run.ended or bool(chosen.task and logs.instances and all(instance.ended for instance in logs.instances)):
        return f"the log of {named} is empty" if has_logs else _none(named, logs)
    if logs.not_started:
        pods = "1 pod has" if logs.not_started == 1 else f"{logs.not_started} pods have"
        return f"there is no log yet: {pods} not started; `torpor why {named}` explains why"
    if has_logs:
        return f"the log of {named} is empty; `torpor why {named}` explains what the tasks wait for"
    if any(instance.state is State.DEFERRED for instance in logs.instances):
        return f"there is no log yet: the archive keeps the lines of a wait when it ends; see `torpor why {named}`"
    return f"there is no log yet; `torpor why {named}` explains what the tasks wait for"


def _none(named: str, logs: SelectedLogs) -> str:
    """The archive may have a log that was not read."""
    return (
        f"there is no log of {named}"
        if logs.archive_read
        else f"no pod of {named} exists, and the archive was not read"
    )


def _check_attempt(chosen: Filter, named: str, instances: Sequence[InstanceView]) -> None:
    most = max((instance.attempt for instance in instances), default=0)
    if chosen.attempt is not None and chosen.attempt > most:
        attempts = "1 attempt" if most == 1 else f"{most} attempts"
        raise errors.UnknownNameError(f"{named} has no attempt {chosen.attempt}; it had {attempts} so far")
