"""The answer of a person to a task that waits for it. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import constants

from torpor_client.errors import UsageError

NOTE_MAX = 1024
VERBS: Mapping[str, str] = {"approve": "approved", "reject": "rejected"}
"""The word of the annotation, by the verb."""


def check_note(note: str | None) -> None:
    """Raise UsageError for a note that is too long."""
    if note is not None and len(note) > NOTE_MAX:
        raise UsageError(f"--note has {len(note)} characters; the limit is {NOTE_MAX}")


def asks(taskrun: Mapping[str, Any]) -> bool:
    """Whether a TaskRun waits for an answer."""
    status = taskrun.get("status") or {}
    trigger = status.get("trigger") or {}
    return status.get("state") == "Deferred" and (trigger.get("class") == "approval" or bool(trigger.get("approvers")))


def annotations(taskrun: Mapping[str, Any], word: str, user: str, note: str | None) -> dict[str, str]:
    """Return the annotations of an answer, which is for the present attempt and segment only."""
    status = taskrun.get("status") or {}
    return {
        constants.APPROVAL: word,
        constants.APPROVAL_BY: user,
        constants.APPROVAL_FOR: f"a{status.get('attempt', 1)}-s{status.get('segment', 0)}",
    } | ({constants.APPROVAL_NOTE: note} if note is not None else {})


def question(taskrun: Mapping[str, Any]) -> str:
    """Return what a TaskRun waits for."""
    trigger = (taskrun.get("status") or {}).get("trigger") or {}
    return str(trigger.get("waitsFor") or taskrun["spec"].get("task") or "")
