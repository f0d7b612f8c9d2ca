"""The TaskRun as the worker reads it: the few fields it needs, out of the API server's JSON.

Pydantic's models are not for a task pod, whose only dependency is `torpor_wire`; the API server has validated the
object already.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_wire import constants, deadline, names, retry, stored_event, times, typed_json


class Source(NamedTuple):
    """Where an argument stands that was too large to copy."""

    task: str
    field: str
    instances: int
    position: int | None = None
    """Whose result; of `results` the position of the first."""
    missing: str | None = None
    """Which of `results` are not there, as ranges of positions or of `paths`; None where that is not known."""
    item: int | None = None
    group_indexes: tuple[int, ...] = ()
    """In which index of each mapped group it stands, outermost first."""
    paths: str | None = None
    """Which instances below those indexes `results` has, as ranges; None where they are those of one frame."""
    mapped: bool = False
    """Whether the last number of a path is the task's own index, not its innermost group's."""


class Argument(NamedTuple):
    """One keyword argument: JSON text, or where to read it; `mapped_by` is `module:function` of the image's own."""

    name: str
    value: str | None
    source: Source | None
    mapped_by: str | None = None


class ArchivedEvent(NamedTuple):
    """An event that is in the archive: under which name, and its size and digest."""

    owner: str
    about: Mapping[str, Any]


class Resume(NamedTuple):
    """Where a resumed segment enters, with its state and the event that fired.

    No method: the task itself, since what was waited for came before its first pod. `late`: the wait took too long, so
    there is no event.
    """

    method: str
    state: dict[str, Any]
    event: Any
    late: bool = False


class TaskRun(NamedTuple):
    """What to run, and from where."""

    workflow: str
    workflow_uid: str
    task: str
    map_index: int
    pool: str
    account: str
    """Who must be allowed to read the Secrets that its triggers refer to."""
    image: str
    python: str
    arguments: tuple[Argument, ...]
    policy: retry.Policy
    deadline: float | None
    """When the attempt's time is used up whether it runs or waits, in seconds since the epoch.

    None also where `timeoutWhileDeferred` is false: then its time stands still in a wait, and no wait ends with it.
    """
    resume: Resume | None
    group_indexes: tuple[int, ...] = ()
    problem: str = ""
    """Why there is no saying where to go on; empty for what Torpor itself has written."""


class Standing(NamedTuple):
    """Where a TaskRun stands, for who asks whether a write of its own was stored."""

    uid: str
    state: str
    attempt: int
    segment: int
    launch: int
    claim: str | None


def parse(body: Any) -> TaskRun:
    """The TaskRun from the API server's JSON."""
    spec, status = body["spec"], body["status"]
    problem, resume = "", None
    try:
        resume = _resume(status, body["metadata"]["uid"], waits_first="trigger" in spec)
    except (ValueError, RecursionError) as error:
        problem = f"the event or next.kwargs in its status is written by another hand than Torpor's: {error}"
    return TaskRun(
        workflow=spec["workflow"]["name"],
        workflow_uid=spec["workflow"]["uid"],
        task=spec["task"],
        map_index=spec.get("mapIndex", constants.UNMAPPED),
        pool=spec.get("triggerPool", constants.DEFAULT_POOL),
        account=spec.get("serviceAccount", constants.TASK_ACCOUNT),
        image=spec.get("image") or "its image",
        python=spec.get("python") or "",
        arguments=tuple(_argument(argument) for argument in spec.get("arguments") or ()),
        policy=_policy(spec.get("retries") or {}),
        deadline=_deadline(spec, status),
        resume=resume,
        group_indexes=tuple(spec.get("groupIndexes") or ()),
        problem=problem,
    )


def standing(body: Any) -> Standing:
    """Where the TaskRun stands."""
    status = body.get("status") or {}
    return Standing(
        uid=body["metadata"]["uid"],
        state=status.get("state", ""),
        attempt=status.get("attempt", 0),
        segment=status.get("segment", 0),
        launch=status.get("launch", 0),
        claim=(status.get("pod") or {}).get("claim"),
    )


def _argument(argument: Any) -> Argument:
    source = argument.get("from")
    return Argument(
        name=argument["name"],
        value=argument.get("value"),
        source=None if source is None else _source(source),
        mapped_by=argument.get("map"),
    )


def _source(source: Any) -> Source:
    return Source(
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
        max_delay=times.seconds(retries["maxDelay"]) if "maxDelay" in retries else retry.MAX_DELAY,
    )


def _deadline(spec: Any, status: Any) -> float | None:
    if not spec.get("timeoutWhileDeferred", True):
        return None
    return deadline.attempt_deadline(status.get("startedAt"), spec.get("timeout"))


def _event(text: str | None, uid: str) -> Any:
    event = None if text is None else json.loads(text)
    about = stored_event.described(event)
    return typed_json.decode(event) if about is None else ArchivedEvent(names.event_owner(uid), about)


def _resume(status: Any, uid: str, *, waits_first: bool) -> Resume | None:
    if not status.get("segment"):
        return None
    following, event = status.get("next"), _event(status.get("event"), uid)
    if not following:
        return Resume("", {}, event) if waits_first else None
    late = following.get("onTimeout") if status.get("timedOut") else None
    state = typed_json.decode(json.loads(following.get("kwargs") or "{}"))
    if not isinstance(state, dict):
        raise ValueError(f"the kwargs are a {type(state).__name__}, not an object")  # noqa: TRY004 - as what is no JSON
    method = late or following["method"]
    return Resume(method, state, event, late is not None) if method else begun_again(state)


def begun_again(state: Mapping[str, Any]) -> Resume | None:
    """The task from its beginning, with the event of the wait that came before its first pod, if there was one."""
    return Resume("", {}, state["event"]) if "event" in state else None
