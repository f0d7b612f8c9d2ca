"""Checks object tasks.

O1: an attempt of a TaskRun creates objects of one name. O2: it succeeds only if its object did, with the result of the
object, and fails by `failWhen` only if its object failed. O3: no task takes its own object for that of another owner.
O4: no owned object outlives its TaskRun.
"""

import json
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.simulation.process import Process
from tests.support.cluster_accounts import JOBS

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

OBJECT_INVARIANTS = ("O1", "O2", "O3", "O4")


class ObjectChecker:
    """Observes every commit."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._expect = simulation.checker.expect
        self._names: dict[tuple[str, str], str] = {}
        self._statuses: dict[tuple[str, str], list[Object]] = {}
        """By uid of the TaskRun and attempt: what the status of its object was."""
        simulation.server.observers.append(self.observe)

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        match entry.address.kind:
            case kind if kind == collection(JOBS) and entry.after is not None:
                self._stored(entry.after)
            case kind if kind == collection(TASKRUNS) and entry.before is not None and entry.after is not None:
                if "object" in entry.after["spec"] and writer.kind == "triggerer":
                    self._moved(entry.before, entry.after)

    def _stored(self, job: Object) -> None:
        metadata = job["metadata"]
        attempt = metadata["labels"][constants.LABEL_OBJECT_OF], metadata["annotations"][constants.OBJECT_ATTEMPT]
        first = self._names.setdefault(attempt, metadata["name"])
        self._expect("O1", first == metadata["name"], f"{metadata['name']} is the second object of {attempt}")
        self._statuses.setdefault(attempt, []).append(job.get("status", {}))

    def _moved(self, before: Object, after: Object) -> None:
        was, now, name = before["status"], after["status"], after["metadata"]["name"]
        if was["state"] != State.DEFERRED:
            return
        statuses = self._statuses.get((after["metadata"]["uid"], str(was["attempt"])), [])
        if now["state"] == State.SUCCEEDED:
            result = json.loads(now.get("result", "null"))
            seen = [status.get("succeeded") for status in statuses]
            self._expect("O2", result in seen, f"{name} has the result {result}, and its object had {seen}")
        if now.get("reason") == Reason.FAIL_WHEN:
            self._expect("O2", {"failed": 1} in statuses, f"{name} failed, and its object was {statuses}")
        self._expect("O3", now.get("reason") != Reason.OBJECT_TAKEN, f"{name}: {now.get('message')}")


def check_leaks(simulation: "Simulation") -> None:
    """O4, after the end of all runs."""
    history = simulation.fake.history
    uids = {taskrun["metadata"]["uid"] for taskrun in history.of_kind(collection(TASKRUNS))}
    for job in history.of_kind(collection(JOBS)):
        owners = job["metadata"].get("ownerReferences", [])
        gone = [owner["name"] for owner in owners if owner["uid"] not in uids]
        simulation.checker.expect("O4", not gone, f"{job['metadata']['name']} outlives its TaskRun {gone}")
