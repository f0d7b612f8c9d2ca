"""Waits until deleted runs are gone: until then their finalizers hold them."""

import time
from collections.abc import Mapping

from torpor_client.runs import run_state

from torpor_cli import output
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ForbiddenError
from torpor_cli.cluster.watch import Deleted, NothingChanged, Update
from torpor_cli.errors import ExitCode
from torpor_cli.following import waiting


def begun(workflow: Object) -> str:
    """Return the line of a run whose deletion has begun. Pure."""
    cancelled = "" if run_state.has_ended(workflow) else "; it is cancelled first"
    return f"{output.object_name(workflow)} is being deleted{cancelled}"


def wait(cluster: ClusterConnection, workflows: list[Object], limit: float | None) -> int:
    """Print a line for each run that is gone. `limit` is in seconds. Return the exit code.

    A new run of the same name is another object: it does not prolong the wait.
    """
    remaining = {item["metadata"]["uid"]: item for item in workflows}
    ends = None if limit is None else time.monotonic() + limit
    for item in workflows:
        if not run_state.has_ended(item):
            output.note(begun(item))
    try:
        for update in waiting.updates(cluster, workflows):
            for uid in _gone(update, remaining):
                output.line(f"{output.object_name(remaining.pop(uid))} deleted")
                output.flush()
            if not remaining:
                return ExitCode.SUCCEEDED
            if ends is not None and time.monotonic() >= ends:
                output.note(f"timed out; {waiting.names_of(remaining)} is being deleted")
                return ExitCode.TIMED_OUT
    except ForbiddenError as error:  # as kubectl: the deletion has succeeded, only the wait has not
        output.note(f"{waiting.names_of(remaining)} is being deleted; no wait for the end: {error}")
        return ExitCode.SUCCEEDED
    except KeyboardInterrupt:
        output.note(f"interrupted; {waiting.names_of(remaining)} is being deleted")
        return ExitCode.INTERRUPTED
    raise AssertionError("a watch does not end")


def _gone(update: Update | NothingChanged, remaining: Mapping[str, Object]) -> list[str]:
    """Return the uids of the runs that no longer exist according to this update."""
    if isinstance(update, Deleted):
        uid = update.item["metadata"]["uid"]
        return [uid] if uid in remaining else []
    return [item["metadata"]["uid"] for item in waiting.vanished(update, remaining)]
