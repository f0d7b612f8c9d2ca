"""Requests a clear or a mark by annotation, and waits until the operator has accepted or refused it."""

import time

from torpor_client.changes import operations, requests
from torpor_client.changes.requests import (
    Answer,
    RequestAccepted,
    RequestKind,
    RequestRefused,
    RequestUnanswered,
)

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ClusterError
from torpor_cli.cluster.resources import EVENTS, WORKFLOWS
from torpor_cli.cluster.watch import Changed, ListSnapshot, NothingChanged, Update, watch_all
from torpor_cli.errors import CliError

_LIMIT_S = requests.ANSWER_S
_PAUSE_S = 0.3


def clear(cluster: ClusterConnection, workflow: Object, text: str) -> Answer:
    """Ask for a clear and return the operator's answer."""
    user = edit.user_name(cluster.api)
    return _request(cluster, workflow, requests.clear_annotations(text, user), requests.CLEAR)


def mark(cluster: ClusterConnection, workflow: Object, text: str, result: str | None) -> Answer:
    """Ask for a mark and return the operator's answer. `result` is JSON text."""
    user = edit.user_name(cluster.api)
    return _request(cluster, workflow, requests.mark_annotations(text, result, user), requests.MARK)


def report(answer: Answer, name: str, *, accepted: str, refused: str) -> None:
    """Print the answer to the request for a run of this name. Raises CliError for a refusal."""
    match answer:
        case RequestAccepted():
            output.line(accepted)
        case RequestRefused(message=message):
            raise CliError(f"Torpor refused {refused}: {message}")
        case RequestUnanswered():
            output.note(f"requested; no operator has answered yet: `torpor get {name} -w` follows it")


def _request(cluster: ClusterConnection, workflow: Object, annotations: dict[str, str], kind: RequestKind) -> Answer:
    annotated = edit.change(cluster.api, WORKFLOWS, workflow, lambda current: operations.annotate(current, annotations))
    ends = time.monotonic() + _LIMIT_S
    selection = ObjectSelection.named(WORKFLOWS, cluster.namespace, workflow["metadata"]["name"])
    for update in watch_all(cluster.api, [selection]):
        current = _current(update, annotated["metadata"]["uid"])
        if current is not None:
            if requests.is_accepted(workflow, current):
                return RequestAccepted()
            if requests.is_handled(annotated, current, kind):
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


def _refusal(cluster: ClusterConnection, workflow: Object, kind: RequestKind) -> Answer:
    """Return the refusal with the message of its Event, which may arrive after the change of the Workflow."""
    ends = time.monotonic() + requests.EVENT_S
    selection = ObjectSelection(resource=EVENTS, namespace=cluster.namespace, fields=requests.refusals(workflow, kind))
    while time.monotonic() < ends:
        try:
            message = requests.refusal(cluster.api.list(selection), workflow)
        except ClusterError:
            message = ""
        if message:
            return RequestRefused(message=message)
        time.sleep(_PAUSE_S)
    return requests.without_event(workflow)
