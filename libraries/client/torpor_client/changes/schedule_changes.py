"""A run of a Schedule by request, and Backfills: their bodies, and the progress of a request. Pure."""

import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from torpor_wire import constants, names

from torpor_client.changes.operations import Operations, annotate
from torpor_client.errors import UserError
from torpor_client.schedules import moments

LIMIT_S = 30.0
"""Seconds in which a running operator creates the run."""
GRACE_S = 3.0
"""Seconds in which the operator reports why it started no run, after it has removed the annotation."""
_LATE = "the operator has not created the run within {:g} seconds; it does so when it runs, see `torpor doctor`"
_SILENT = "schedule {0} started no run; `kubectl describe schedule {0}` shows the cause"
_PREFIX_MAX = 57


class RequestProgress(Enum):
    """What became of a request."""

    PENDING = auto()
    HANDLED = auto()


def value(identifier: str, params: Mapping[str, Any]) -> str:
    """Return the value of the annotation."""
    return json.dumps({"id": identifier, **({"params": dict(params)} if params else {})}, separators=(",", ":"))


def request(schedule: Mapping[str, Any], text: str) -> Operations:
    """Return the operations that request a run. Raises UserError while an earlier request is pending."""
    metadata = schedule["metadata"]
    if constants.RUN_NOW in (metadata.get("annotations") or {}):
        raise UserError(
            f"schedule {metadata['name']} has a request that the operator has not handled yet; try again, or see "
            "`torpor doctor`"
        )
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
    return [version, *annotate(schedule, {constants.RUN_NOW: text})]


def run_name(schedule: Mapping[str, Any], text: str) -> str:
    """Return the name of the run that a request starts."""
    metadata = schedule["metadata"]
    return names.run(metadata["name"], names.manual_run_key(metadata["uid"], text))


def progress(
    current: Mapping[str, Any], before: Mapping[str, Any], text: str, *, deleted: bool = False
) -> RequestProgress | str:
    """Return whether the operator has handled a request, or why it has started no run."""
    if deleted or current["metadata"]["uid"] != before["metadata"]["uid"]:
        return "was deleted"
    if (current["metadata"].get("annotations") or {}).get(constants.RUN_NOW) == text:
        return RequestProgress.PENDING
    known = (before.get("status") or {}).get("failedEvents") or ()
    failed = [event for event in (current.get("status") or {}).get("failedEvents") or () if event not in known]
    return (
        f"started no run: {failed[-1].get('message') or failed[-1].get('reason')}"
        if failed
        else RequestProgress.HANDLED
    )


def late(limit: float = LIMIT_S) -> str:
    """Return why there is no run, if the operator has not handled the request."""
    return _LATE.format(limit)


def silent(schedule: Mapping[str, Any]) -> str:
    """Return why there is no run, if the operator has handled the request without a word."""
    return _SILENT.format(schedule["metadata"]["name"])


def backfill_spec(schedule: str, start: float, end: float, **given: Any) -> dict[str, Any]:
    """Return the spec of a Backfill of the ticks from `start` up to `end`, which is excluded."""
    return {"schedule": schedule, "from": moments.stamp(start), "to": moments.stamp(end), **given}


def backfill(spec: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Return the Backfill. Empty fields of the spec are omitted."""
    prefix = str(spec["schedule"])[:_PREFIX_MAX].rstrip("-.")
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Backfill",
        "metadata": {"name": name} if name else {"generateName": f"{prefix}-"},
        "spec": {key: value for key, value in spec.items() if value or value is False},
    }
