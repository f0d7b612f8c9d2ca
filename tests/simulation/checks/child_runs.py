"""Checks runs that tasks start.

R1: an attempt of a TaskRun starts at most one run. R2: a TaskRun waits only for a run that was created. R3: it succeeds
only if its run did, with the result of the run. R4: a run ends with the task that waits for it, and no run outlives its
TaskRun.
"""

import json
from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_wire.state import TERMINAL, State

from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CHILD_RUN_INVARIANTS = ("R1", "R2", "R3", "R4")


class ChildRunChecker:
    """Observes every commit."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._expect = simulation.checker.expect
        self._started: dict[tuple[str, int], str] = {}
        self._last: dict[str, Object] = {}
        """By name: the last version of a run, also of one that is gone."""

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        match entry.address.kind:
            case kind if kind == collection(WORKFLOWS) and entry.after is not None and "parent" in entry.after["spec"]:
                self._last[entry.after["metadata"]["name"]] = entry.after
                if entry.before is None:
                    self._created(entry.after)
            case kind if kind == collection(TASKRUNS) and entry.before is not None and entry.after is not None:
                if "run" in entry.after["spec"] and writer.kind != "person":
                    self._moved(entry.before, entry.after)

    def check_leaks(self) -> None:
        """After the end of all runs."""
        history = self._simulation.fake.history
        taskruns = {taskrun["metadata"]["uid"]: taskrun for taskrun in history.of_kind(collection(TASKRUNS))}
        for flow in history.of_kind(collection(WORKFLOWS)):
            if (parent := flow["spec"].get("parent")) is None:
                continue
            name, taskrun = flow["metadata"]["name"], taskruns.get(parent["uid"])
            self._expect("R4", taskrun is not None, f"{name} outlives its TaskRun")
            ended = "completionTime" in flow.get("status", {})
            over = taskrun is None or taskrun["status"]["state"] in TERMINAL
            self._expect("R4", ended or not over, f"{name} goes on, and its task has ended")

    def _created(self, flow: Object) -> None:
        parent, name = flow["spec"]["parent"], flow["metadata"]["name"]
        taskrun = self._simulation.fake.get(TASKRUNS, flow["metadata"]["namespace"], parent["taskRun"])
        if taskrun is None or taskrun["metadata"]["uid"] != parent["uid"]:
            return  # the write was late; the garbage collector removes the run
        attempt = taskrun["status"]["attempt"]
        first = self._started.setdefault((parent["uid"], attempt), name)
        self._expect("R1", first == name, f"{name} is the second run of attempt {attempt} of {parent['taskRun']}")

    def _moved(self, before: Object, after: Object) -> None:
        was, now, name = before["status"], after["status"], after["metadata"]["name"]
        if was["state"] == State.SCHEDULED and now["state"] == State.DEFERRED:
            awaited = json.loads(now["trigger"]["kwargs"])["name"]
            self._expect("R2", awaited in self._last, f"{name} waits for {awaited}, which was never created")
            own = self._started.get((after["metadata"]["uid"], now["attempt"]))
            self._expect("R2", awaited == own, f"{name} waits for {awaited}, and its run is {own}")
        if was["state"] == State.DEFERRED and now["state"] == State.SUCCEEDED:
            flow: Any = self._last.get(json.loads(was["trigger"]["kwargs"])["name"], {})
            status = flow.get("status", {})
            self._expect("R3", status.get("state") == "Succeeded", f"{name} succeeded, and its run is {status}")
            result = json.loads(now.get("result", "null"))
            expected = json.loads(status.get("result", "null"))
            self._expect("R3", result == expected, f"{name} has the result {result}, and its run {expected}")
