"""Waits for runs by watches, without polling."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from torpor_client.runs import run_state
from torpor_wire import times

from torpor_cli import output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.cluster.watch import Deleted, ListSnapshot, NothingChanged, Update, objects_of, watch_all
from torpor_cli.errors import ExitCode
from torpor_cli.runs import exit_codes

_WATCHES_MAX = 4
"""Runs that are watched one by one; more are watched with all runs of the namespace."""


class Goal(StrEnum):
    """What to wait for. END is any end."""

    END = "end"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RUNNING = "running"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOutcome:
    """How the wait for a run ended. `reached`: whether it is in the state that the user waited for."""

    state: str
    reached: bool


def outcome(workflow: Object, goal: Goal) -> WaitOutcome | None:
    """Return the outcome of a wait, None while it goes on. A run that has ended reaches no other goal. Pure."""
    state, ended = run_state.word_of(workflow), run_state.has_ended(workflow)
    if goal is Goal.END:
        return WaitOutcome(state=state, reached=True) if ended else None
    if state.lower() == goal and (ended or goal in {Goal.RUNNING, Goal.SUSPENDED}):
        return WaitOutcome(state=state, reached=True)
    return WaitOutcome(state=state, reached=False) if ended else None


def exit_code(outcomes: Mapping[str, WaitOutcome], goal: Goal) -> int:
    """Return the exit code of waits that have all ended. Pure."""
    if goal is Goal.END:
        return exit_codes.of_runs(wait_outcome.state for wait_outcome in outcomes.values())
    missed = [wait_outcome.state for wait_outcome in outcomes.values() if not wait_outcome.reached]
    if not missed:
        return ExitCode.SUCCEEDED
    return exit_codes.of_runs(missed) or ExitCode.FAILED


def wait(cluster: ClusterConnection, workflows: list[Object], goal: Goal, limit: float | None) -> int:
    """Wait for runs, and print a line for each. `limit` is in seconds. Return the exit code."""
    missing = {item["metadata"]["uid"]: item for item in workflows}
    outcomes: dict[str, WaitOutcome] = {}
    ends = None if limit is None else time.monotonic() + limit
    try:
        for update in updates(cluster, workflows):
            for item in [item for item in objects_of(update) if item["metadata"]["uid"] in missing]:
                _settle(item, goal, missing, outcomes, deleted=isinstance(update, Deleted))
            for item in vanished(update, missing):
                _settle(item, goal, missing, outcomes, deleted=True)
            if not missing:
                return exit_code(outcomes, goal)
            if ends is not None and time.monotonic() >= ends:
                return _timed_out(missing)
    except KeyboardInterrupt:
        output.note(f"interrupted; {names_of(missing)} goes on")
        return ExitCode.INTERRUPTED
    raise AssertionError("a watch does not end")


def updates(cluster: ClusterConnection, workflows: list[Object]) -> Iterator[Update | NothingChanged]:
    """Watch these runs as one stream."""
    names = [item["metadata"]["name"] for item in workflows]
    selections = [ObjectSelection.named(WORKFLOWS, cluster.namespace, name) for name in names]
    if len(names) > _WATCHES_MAX:
        selections = [ObjectSelection(resource=WORKFLOWS, namespace=cluster.namespace)]
    return watch_all(cluster.api, selections, noted=output.note)


def vanished(update: Update | NothingChanged, missing: Mapping[str, Object]) -> list[Object]:
    """Return the runs that a list no longer contains."""
    if not isinstance(update, ListSnapshot):
        return []
    listed, fields = {item["metadata"]["uid"] for item in update.items}, update.selection.fields
    concerned = [
        item for item in missing.values() if not fields or fields == f"metadata.name={item['metadata']['name']}"
    ]
    return [item for item in concerned if item["metadata"]["uid"] not in listed]


def _settle(
    item: Object, goal: Goal, missing: dict[str, Object], outcomes: dict[str, WaitOutcome], *, deleted: bool
) -> None:
    uid, name = item["metadata"]["uid"], item["metadata"]["name"]
    settled = outcome(item, goal) or (WaitOutcome(state="Deleted", reached=False) if deleted else None)
    if settled is None:
        return
    outcomes[uid] = settled
    missing.pop(uid, None)
    print_outcome(item, name, settled)


def print_outcome(item: Object, name: str, settled: WaitOutcome) -> None:
    """Print the line of a run."""
    why = run_state.message_of(item)
    took = _duration(item)
    ends = f" after {took}" if took and settled.state in run_state.ENDED else ""
    output.line(f"{name} {settled.state}{ends}{': ' if why else ''}{why}".replace("\n", " "))
    output.flush()


def _duration(item: Object) -> str:
    status = item.get("status") or {}
    try:
        created, completed = item["metadata"]["creationTimestamp"], status["completionTime"]
        return times.human(times.epoch(completed) - times.epoch(created))
    except (KeyError, TypeError, ValueError):
        return ""


def _timed_out(missing: Mapping[str, Object]) -> int:
    output.note(f"timed out; {names_of(missing)} goes on")
    return ExitCode.TIMED_OUT


def names_of(missing: Mapping[str, Object]) -> str:
    """Return the names of runs for a sentence."""
    return ", ".join(item["metadata"]["name"] for item in missing.values())
