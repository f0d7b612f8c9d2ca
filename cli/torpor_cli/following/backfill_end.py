"""Waits for the end of a Backfill by a watch, and prints its progress."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_cli import output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.resources import BACKFILLS
from torpor_cli.cluster.watch import Changed, Deleted, ListSnapshot, NothingChanged, Update, watch_all
from torpor_cli.errors import ExitCode

_CODES = {"Succeeded": ExitCode.SUCCEEDED, "Failed": ExitCode.RUN_FAILED, "Cancelled": ExitCode.RUN_CANCELLED}


def ended_state(backfill: Object) -> str:
    """Return the state of a Backfill that has ended, empty while it goes on. Pure."""
    status = backfill.get("status") or {}
    return str(status.get("state") or "") if status.get("completionTime") else ""


def summary(backfill: Object) -> str:
    """Return one line on the progress of a Backfill. Pure."""
    name, status = backfill["metadata"]["name"], backfill.get("status") or {}
    counts = ", ".join(f"{status.get(field) or 0} {field}" for field in ("active", "succeeded", "failed", "passed"))
    text = f"{name} {status.get('state') or 'Pending'} {status.get('progress') or ''} ({counts})".replace("  ", " ")
    why = status.get("lastFailure") or (_waits_for(status) if status.get("state") == "Waiting" else "")
    return f"{text}: {why}" if why else text


def _waits_for(status: Mapping[str, Any]) -> str:
    """Return why a Backfill waits."""
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    return next(
        (str(condition.get("message") or "") for condition in conditions if condition.get("type") == "Succeeded"), ""
    )


def wait(cluster: ClusterConnection, backfill: Object, limit: float | None) -> int:
    """Print a line for each progress until the Backfill ends. `limit` is in seconds. Return the exit code."""
    name, uid = backfill["metadata"]["name"], backfill["metadata"]["uid"]
    ends = None if limit is None else time.monotonic() + limit
    selection = ObjectSelection.named(BACKFILLS, cluster.namespace, name)
    shown = ""
    try:
        for update in watch_all(cluster.api, [selection], noted=output.note):
            current = _current(update, uid)
            if current is None:
                output.line(f"{name} Deleted")
                return ExitCode.FAILED
            if current and (line := summary(current)) != shown:
                shown = line
                output.line(line)
                output.flush()
            if current and (state := ended_state(current)):
                return _CODES.get(state, ExitCode.FAILED)
            if ends is not None and time.monotonic() >= ends:
                output.note(f"timed out; {name} goes on")
                return ExitCode.TIMED_OUT
    except KeyboardInterrupt:
        output.note(f"interrupted; {name} goes on")
        return ExitCode.INTERRUPTED
    raise AssertionError("a watch does not end")


def _current(update: Update | NothingChanged, uid: str) -> Object | None:
    """Return the Backfill of an update, an empty object for NothingChanged, and None if it was deleted."""
    match update:
        case NothingChanged():
            return {}
        case ListSnapshot(items=items):
            return next((item for item in items if item["metadata"]["uid"] == uid), None)
        case Changed(item=item):
            return item if item["metadata"]["uid"] == uid else None
        case Deleted():
            return None
