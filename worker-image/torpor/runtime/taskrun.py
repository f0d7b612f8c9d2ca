"""The fields of a TaskRun that the worker needs, from the JSON of the API server.

Pydantic is too slow to import in a task pod, and the API server has validated the object.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_wire import constants, deadline, names, retry, times, transitions
from torpor_wire.transitions import HistorySize


class ArgumentLocation(NamedTuple):
    """The location of an argument that was too large to copy."""

    task: str
    field: str
    instances: int
    position: int | None = None
    """The index of the instance; of `results`, that of the first one."""
    missing: str | None = None
    """The instances of `results` without a result, as ranges of positions or of `paths`; None if not known."""
    item: int | None = None
    group_indexes: tuple[int, ...] = ()
    """Index in each mapped group, outermost first."""
    paths: str | None = None
    """The instances below those indexes, as ranges; None if they are those of one group scope."""
    mapped: bool = False
    """Whether the last number of a path is the index of the task itself, not of its innermost group."""


class TaskArgument(NamedTuple):
    """A keyword argument: JSON text or its location. `mapped_by` is the `module:function` to apply."""

    name: str
    value: str | None
    source: ArgumentLocation | None
    mapped_by: str | None = None


class ArchivedEvent(NamedTuple):
    """An event in the archive: its owner, size and digest."""

    owner: str
    about: Mapping[str, Any]


class ResumePoint(NamedTuple):
    """Where a resumed segment starts, with its state and event.

    Without a method it starts from the beginning, because the trigger preceded the first pod. `late` means that the
    deferral timed out, so there is no event.
    """

    method: str
    state: dict[str, Any]
    event: Any
    late: bool = False


class WorkerTaskRun(NamedTuple):
    """What to run, and from where."""

    workflow: str
    workflow_uid: str
    task: str
    map_index: int
    pool: str
    account: str
    """The ServiceAccount that must be allowed to read the Secrets of its triggers."""
    image: str
    """Where its code is, for messages: the image, and the ConfigMap of `source`."""
    python: str
    arguments: tuple[TaskArgument, ...]
    policy: retry.Policy
    deadline: float | None
    """When the attempt exceeds its timeout, in seconds since the epoch.

    None also if `timeoutWhileDeferred` is false: then the timeout pauses during a deferral.
    """
    resume: ResumePoint | None
    group_indexes: tuple[int, ...] = ()
    problem: str = ""
    """Why the resume is invalid; empty for everything that Torpor writes."""


class TaskRunState(NamedTuple):
    """The state of a TaskRun, to find out whether a write was stored."""

    uid: str
    state: str
    attempt: int
    segment: int
    launch: int
    claim: str | None


def parse_history(body: Any) -> HistorySize:
    """Return the size of `status.history`."""
    return transitions.history_size(body["status"].get("history"))


def parse_taskrun(body: Any) -> WorkerTaskRun:
    """Return the TaskRun from the API server's JSON."""
    spec, status = body["spec"], body["status"]
    problem, resume = "", None
    try:
        resume = _resume(status, body["metadata"]["uid"], waits_first="trigger" in spec)
    except (ValueError, RecursionError) as error:
        problem = f"invalid status: event or next.kwargs (modified outside Torpor?): {error}"
    return WorkerTaskRun(
        workflow=spec["workflow"]["name"],
        workflow_uid=spec["workflow"]["uid"],
        task=spec["task"],
        map_index=spec.get("mapIndex", constants.UNMAPPED),
        pool=spec.get("triggerPool", constants.DEFAULT_POOL),
        account=spec.get("serviceAccount", constants.TASK_ACCOUNT),
        image=_code(spec),
        python=spec.get("python") or "",
        arguments=tuple(_argument(argument) for argument in spec.get("arguments") or ()),
        policy=_policy(spec.get("retries") or {}),
        deadline=_deadline(spec, status),
        resume=resume,
        group_indexes=tuple(spec.get("groupIndexes") or ()),
        problem=problem,
    )


def _code(spec: Any) -> str:
    image = spec.get("image") or "its image"
    return f"{image} or ConfigMap {spec['source']['configMap']}" if spec.get("source") else image


def parse_state(body: Any) -> TaskRunState:
    """Return the state of a TaskRun."""
    status = body.get("status") or {}
    return TaskRunState(
        uid=body["metadata"]["uid"],
        state=status.get("state", ""),
        attempt=status.get("attempt", 0),
        segment=status.get("segment", 0),
        launch=status.get("launch", 0),
        claim=(status.get("pod") or {}).get("claim"),
    )


def _argument(argument: Any) -> TaskArgument:
    source = argument.get("from")
    return TaskArgument(
        name=argument["name"],
        value=argument.get("value"),
        source=None if source is None else _source(source),
        mapped_by=argument.get("map"),
    )


def _source(source: Any) -> ArgumentLocation:
    return ArgumentLocation(
        task=source["task"],
        field=source["field"],
        instances=source.get("count", 1),
        position=source.get("index"),
        missing=source.get("missing"),
        item=source.get("item"),
        group_indexes=tuple(source.get("groupIndexes") or ()),
        paths=source.get("paths"),
        mapped=source.get("mapped", False),
    )


def _policy(retries: Any) -> retry.Policy:
    return retry.Policy(
        limit=retries.get("limit", 0),
        delay=times.seconds(retries["delay"]) if "delay" in retries else retry.DELAY,
        backoff=retries.get("backoff", retry.BACKOFF),
        max_delay=times.seconds(retries["maxDelay"]) if "maxDelay" in retries else None,
    )


def _deadline(spec: Any, status: Any) -> float | None:
    if not spec.get("timeoutWhileDeferred", True):
        return None
    return deadline.attempt_deadline(status.get("startedAt"), spec.get("timeout"))


def _event(text: str | None, uid: str) -> Any:
    from torpor_wire import typed_json  # noqa: PLC0415 - 3 ms, only for tasks that resume

    event = None if text is None else json.loads(text)
    about = typed_json.description_of_event(event)
    return typed_json.decode(event) if about is None else ArchivedEvent(names.event_owner(uid), about)


def _resume(status: Any, uid: str, *, waits_first: bool) -> ResumePoint | None:
    if not status.get("segment"):
        return None
    from torpor_wire import typed_json  # noqa: PLC0415 - 3 ms, only for tasks that resume

    following, event = status.get("next"), _event(status.get("event"), uid)
    if not following:
        return ResumePoint("", {}, event) if waits_first else None
    late = following.get("onTimeout") if status.get("timedOut") else None
    state = typed_json.decode(json.loads(following.get("kwargs") or "{}"))
    if not isinstance(state, dict):
        raise ValueError(f"the kwargs are of type {type(state).__name__}, not an object")  # noqa: TRY004 - handled as invalid JSON
    method = late or following["method"]
    return ResumePoint(method, state, event, late is not None) if method else resume_from_beginning(state)


def resume_from_beginning(state: Mapping[str, Any]) -> ResumePoint | None:
    """Return a resume from the beginning with the event of the task's `trigger:`, if it has one."""
    return ResumePoint("", {}, state["event"]) if "event" in state else None
