"""Requests a clear or a mark by annotation, and waits until the operator has accepted or refused it."""

import time
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torpor_client.runs import run_state
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ClusterError
from torpor_cli.cluster.resources import EVENTS, WORKFLOWS
from torpor_cli.cluster.watch import Changed, ListSnapshot, NothingChanged, Update, watch_all
from torpor_cli.errors import CliError


class _RequestKind(NamedTuple):
    """A kind of request: its word in `torpor.dev/changed-by`, its annotation, and the reason of a refusal."""

    word: str
    annotation: str
    refused: Reason


_CLEAR = _RequestKind("clear", constants.CLEAR, Reason.CLEAR_REFUSED)
_MARK = _RequestKind("mark", constants.MARK, Reason.MARK_REFUSED)
_LIMIT_S = 15.0
_EVENT_S = 3.0
"""How long the Event of a refusal may arrive after the annotation is gone."""
_PAUSE_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAccepted:
    """The operator carries the request out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """The operator changes nothing."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUnanswered:
    """The operator has not read the annotation within the limit."""


Answer: TypeAlias = RequestAccepted | RequestRefused | RequestUnanswered


def clear(cluster: ClusterConnection, workflow: Object, text: str) -> Answer:
    """Ask for a clear and return the operator's answer."""
    return _request(cluster, workflow, {constants.CLEAR: text}, _CLEAR)


def mark(cluster: ClusterConnection, workflow: Object, text: str, result: str | None) -> Answer:
    """Ask for a mark and return the operator's answer. `result` is JSON text."""
    return _request(
        cluster, workflow, {constants.MARK: text} | ({constants.MARK_RESULT: result} if result else {}), _MARK
    )


def check_not_cancelled(workflow: Object, then: str) -> None:
    """Raise CliError for a run that is being cancelled. `then` is what the user can do after its end."""
    name, spec = workflow["metadata"]["name"], workflow["spec"]
    if (spec.get("cancel") or spec.get("stop")) and not run_state.has_ended(workflow):
        raise CliError(f"run {name} is being cancelled; use `torpor wait {name}`, then {then}")


def report(answer: Answer, name: str, *, accepted: str, refused: str) -> None:
    """Print the answer to the request for a run of this name. Raises CliError for a refusal."""
    match answer:
        case RequestAccepted():
            output.line(accepted)
        case RequestRefused(message=message):
            raise CliError(f"Torpor refused {refused}: {message}")
        case RequestUnanswered():
            output.note(f"requested; no operator has answered yet: `torpor get {name} -w` follows it")


def _request(cluster: ClusterConnection, workflow: Object, request: dict[str, str], kind: _RequestKind) -> Answer:
    user = edit.user_name(cluster.api)
    annotations = request | ({constants.CHANGED_BY: f"{kind.word} {user}"} if user else {})
    annotated = edit.change(cluster.api, WORKFLOWS, workflow, lambda current: edit.annotate(current, annotations))
    before = _clears(workflow)
    ends = time.monotonic() + _LIMIT_S
    selection = ObjectSelection.named(WORKFLOWS, cluster.namespace, workflow["metadata"]["name"])
    for update in watch_all(cluster.api, [selection]):
        current = _current(update, annotated["metadata"]["uid"])
        if current is not None:
            if _clears(current) > before:
                return RequestAccepted()
            if not _requested(current, kind) and _version(current) >= _version(annotated):
                return _refusal(cluster, annotated, kind)
        if time.monotonic() > ends:
            break
    return RequestUnanswered()


def _current(update: Update | NothingChanged, uid: str) -> Object | None:
    match update:
        case ListSnapshot(items=items):
            return next((item for item in items if item["metadata"]["uid"] == uid), None)
        case Changed(item=item) if item["metadata"]["uid"] == uid:
            return item
        case _:
            return None


def _refusal(cluster: ClusterConnection, workflow: Object, kind: _RequestKind) -> Answer:
    """Return the refusal with the message of its Event, which may arrive after the change of the Workflow."""
    ends = time.monotonic() + _EVENT_S
    while time.monotonic() < ends:
        message = _refused(cluster, workflow, kind)
        if message:
            return RequestRefused(message=message)
        time.sleep(_PAUSE_S)
    name = workflow["metadata"]["name"]
    return RequestRefused(message=f"see the Events: `kubectl describe workflow {name} -n {cluster.namespace}`")


def _refused(cluster: ClusterConnection, workflow: Object, kind: _RequestKind) -> str:
    fields = f"reason={kind.refused},regarding.name={workflow['metadata']['name']}"
    try:
        events = cluster.api.list(ObjectSelection(resource=EVENTS, namespace=cluster.namespace, fields=fields))
    except ClusterError:
        return ""
    latest = max(events, key=_time, default=None)
    return str(latest.get("note") or "") if latest and _is_recent(latest, workflow) else ""


def _is_recent(event: Object, workflow: Object) -> bool:
    """Whether an Event is newer than the last write of the annotation, by the clock of the cluster."""
    fields = workflow["metadata"].get("managedFields") or ()
    written_at = max((str(entry.get("time") or "") for entry in fields), default="")
    return _time(event)[:19] >= written_at[:19]


def _time(event: Object) -> str:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("eventTime"), event.get("deprecatedLastTimestamp"))
    return max(str(each or "") for each in times)


def _clears(workflow: Object) -> int:
    return int((workflow.get("status") or {}).get("clears") or 0)


def _requested(workflow: Object, kind: _RequestKind) -> bool:
    return kind.annotation in (workflow["metadata"].get("annotations") or {})


def _version(workflow: Object) -> int:
    return int(workflow["metadata"]["resourceVersion"])
