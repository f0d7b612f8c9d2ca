"""Checks runs that tasks start.

R1: an attempt of a TaskRun starts at most one run. R2: a TaskRun waits only for a run that was created. R3: it
succeeds only if its run did, with the result of the run; one that does not wait has the name and uid of its run as
its result. R4: a run ends with the task that waits for it, and no run outlives its TaskRun unless its author says so.
R5: nothing deletes a run for which a task waits, or is about to wait again, and no run that its author keeps is
deleted with its task. R6: a task takes the outcome of a failed run that was cleared. R7: what ends or suspends a run
reaches the runs in it, and none that nothing waits for.
"""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_wire import constants
from torpor_wire.state import TERMINAL, State

from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CHILD_RUN_INVARIANTS = ("R1", "R2", "R3", "R4", "R5", "R6", "R7")


class ChildRunChecker:
    """Observes every commit."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._expect = simulation.checker.expect
        self._started: dict[tuple[str, int], str] = {}
        self._last: dict[str, Object] = {}
        """By name: the last version of a run, also of one that is gone."""
        self._calls: dict[str, Object] = {}
        """By uid of the TaskRun: its `run`."""
        self._deleted_by_hand: set[str] = set()
        """The uids of TaskRuns that a person deleted."""

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        match entry.address.kind:
            case kind if kind == collection(WORKFLOWS) and "parent" in (entry.after or entry.before or {})["spec"]:
                self._run_changed(writer, entry.before, entry.after)
            case kind if kind == collection(TASKRUNS) and "run" in (entry.after or entry.before or {})["spec"]:
                self._taskrun_changed(writer, entry.before, entry.after)

    def check_leaks(self) -> None:
        """After the end of all runs."""
        history = self._simulation.fake.history
        taskruns = {taskrun["metadata"]["uid"]: taskrun for taskrun in history.of_kind(collection(TASKRUNS))}
        flows = history.of_kind(collection(WORKFLOWS))
        owners = {flow["metadata"]["uid"] for flow in flows}  # of runs whose TaskRun was to be created again
        for flow in flows:
            if (parent := flow["spec"].get("parent")) is None:
                continue
            name, taskrun = flow["metadata"]["name"], taskruns.get(parent["uid"])
            call = self._calls.get(parent["uid"], {})
            kept = parent["uid"] in owners or not _is_owned(call)
            self._expect("R4", taskrun is not None or kept, f"{name} outlives its TaskRun")
            ended = "completionTime" in flow.get("status", {})
            over = taskrun is None or taskrun["status"]["state"] in TERMINAL
            waits = call.get("wait") is not False and parent["uid"] not in self._deleted_by_hand
            self._expect("R4", ended or not over or not waits, f"{name} goes on, and its task has ended")
            if taskrun is not None:
                self._check_outcome(flow, taskrun)

    def check_reached(self, outer: str, field: str, cancelled: Collection[str]) -> None:
        """Some time after a person set a field of the spec of an outer run, when some runs were cancelled already."""
        history = self._simulation.fake.history
        flows = {flow["metadata"]["name"]: flow for flow in history.of_kind(collection(WORKFLOWS))}
        if outer not in flows or not flows[outer]["spec"].get(field):
            return
        for name, flow in flows.items():
            parent = flow["spec"].get("parent", {})
            taskrun = self._simulation.fake.get(TASKRUNS, flow["metadata"]["namespace"], parent.get("taskRun", ""))
            if parent.get("workflow") != outer or taskrun is None or taskrun["metadata"]["uid"] != parent["uid"]:
                continue
            current = parent["attempt"] == taskrun["status"]["attempt"]
            if current and field == "stop" and not _is_cancelled(flows[outer]) and name not in cancelled:
                self._expect("R7", not flow["spec"].get("cancel"), f"a stop of {outer} cancels {name}")
            if not current or "completionTime" in flow.get("status", {}) or "wait" in taskrun["spec"]["run"]:
                continue
            if field == "suspend" and taskrun["status"]["state"] in TERMINAL:
                continue
            self._expect("R7", bool(flow["spec"].get(field)), f"{field} of {outer} did not reach {name}")

    def check_resumed(self, outer: str) -> None:
        """Some time after a person resumed an outer run."""
        flows = self._simulation.fake.history.of_kind(collection(WORKFLOWS))
        if any(flow["metadata"]["name"] == outer and flow["spec"].get("suspend") for flow in flows):
            return
        for flow in flows:
            if flow["spec"].get("parent", {}).get("workflow") == outer and "completionTime" not in flow["status"]:
                by_parent = constants.SUSPENDED_BY_PARENT in flow["metadata"].get("annotations", {})
                self._expect("R7", not by_parent, f"{flow['metadata']['name']} stays suspended, {outer} goes on")

    def _check_outcome(self, flow: Object, taskrun: Object) -> None:
        """After the end of all runs."""
        parent, status, outer = flow["spec"]["parent"], flow.get("status", {}), flow["spec"]["parent"]["workflow"]
        owner = self._simulation.fake.get(WORKFLOWS, flow["metadata"]["namespace"], outer)
        ends = owner is None or owner["spec"].get("cancel") or owner["spec"].get("stop")
        if ends or taskrun["status"]["attempt"] != parent["attempt"] or not status.get("clears"):
            return
        missed = taskrun["status"]["state"] == "Failed" and status.get("state") == "Succeeded"
        seen = status["clears"] <= parent.get("clears", 0)
        self._expect(
            "R6", seen or not missed, f"{flow['metadata']['name']} succeeded after a clear, and its task failed"
        )

    def _run_changed(self, writer: Process, before: Object | None, after: Object | None) -> None:
        flow = after or before
        assert flow is not None
        self._last[flow["metadata"]["name"]] = flow
        if before is None:
            self._created(flow)
        elif writer.kind != "person":
            self._check_kept(writer, before, after)
            if after is not None and self._calls.get(flow["spec"]["parent"]["uid"], {}).get("wait") is False:
                changed = [name for name in ("cancel", "stop", "suspend") if after["spec"].get(name)]
                asked = [name for name in changed if before["spec"].get(name)]
                self._expect("R7", changed == asked, f"{flow['metadata']['name']} got {changed}, and nothing waits")

    def _check_kept(self, writer: Process, before: Object, after: Object | None) -> None:
        """Whether a deletion by the operator or the garbage collector is due."""
        parent, name = before["spec"]["parent"], before["metadata"]["name"]
        begins = after is None or "deletionTimestamp" in after["metadata"]
        if not begins or "deletionTimestamp" in before["metadata"]:
            return
        if writer.kind == "kubelet":
            kept = not _is_owned(self._calls.get(parent["uid"], {}))
            self._expect("R5", not kept, f"{name} is collected as garbage, and its author keeps it")
        namespace = before["metadata"]["namespace"]
        taskrun = self._simulation.fake.get(TASKRUNS, namespace, parent["taskRun"])
        if taskrun is not None and taskrun["metadata"]["uid"] == parent["uid"]:
            deleting = "deletionTimestamp" in taskrun["metadata"]
            over = taskrun["status"]["state"] in TERMINAL or taskrun["status"]["attempt"] != parent["attempt"]
            self._expect("R5", deleting or over, f"{name} is deleted, and its task waits for it")
        owner = self._simulation.fake.get(WORKFLOWS, namespace, parent["workflow"])
        if owner is None or "deletionTimestamp" in owner["metadata"] or parent["uid"] in self._deleted_by_hand:
            return
        if taskrun is None or taskrun["status"]["attempt"] != parent["attempt"]:
            return
        asked = owner.get("status", {}).get("clearing", {}).get("asked", "")
        again = asked.startswith("wait again: ") and parent["taskRun"] in asked
        self._expect("R5", not again, f"{name} is deleted, and its task was to wait for it again")

    def _taskrun_changed(self, writer: Process, before: Object | None, after: Object | None) -> None:
        taskrun = after or before
        assert taskrun is not None
        uid = taskrun["metadata"]["uid"]
        self._calls[uid] = taskrun["spec"]["run"]
        if writer.kind == "person" and (after is None or "deletionTimestamp" in after["metadata"]):
            self._deleted_by_hand.add(uid)
        if after is None:
            self._removed(taskrun)
        elif before is not None and writer.kind != "person":
            self._moved(before, after)

    def _removed(self, taskrun: Object) -> None:
        """A TaskRun is gone: each run that it does not own has ended, or is being stopped."""
        uid, call = taskrun["metadata"]["uid"], taskrun["spec"]["run"]
        if uid in self._deleted_by_hand or _is_owned(call) or call.get("wait") is False:
            return
        for flow in self._simulation.fake.history.of_kind(collection(WORKFLOWS)):
            if flow["spec"].get("parent", {}).get("uid") == uid:
                ends = "completionTime" in flow.get("status", {}) or "deletionTimestamp" in flow["metadata"]
                told = flow["spec"].get("cancel") or flow["spec"].get("stop")
                self._expect("R4", bool(ends or told), f"{flow['metadata']['name']} goes on without its TaskRun")

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
            run = self._last.get(awaited, {}).get("spec", {}).get("parent", {})
            own = self._started.get((after["metadata"]["uid"], now["attempt"]))
            if (run.get("uid"), run.get("clears", 0) > 0) == (after["metadata"]["uid"], True):
                own = awaited  # it waits again
            self._expect("R2", awaited == own, f"{name} waits for {awaited}, and its run is {own}")
        if was["state"] == State.SCHEDULED and now["state"] == State.SUCCEEDED and "mark" not in after["spec"]:
            result = json.loads(now["result"])
            run = self._last.get(result["name"], {}).get("metadata", {})
            self._expect("R3", run.get("uid") == result["uid"], f"{name} has the result {result}, and its run is {run}")
        if was["state"] == State.DEFERRED and now["state"] == State.SUCCEEDED:
            flow: Any = self._last.get(json.loads(was["trigger"]["kwargs"])["name"], {})
            status = flow.get("status", {})
            self._expect("R3", status.get("state") == "Succeeded", f"{name} succeeded, and its run is {status}")
            result = json.loads(now.get("result", "null"))
            expected = json.loads(status.get("result", "null"))
            self._expect("R3", result == expected, f"{name} has the result {result}, and its run {expected}")


def _is_cancelled(flow: Object) -> bool:
    return bool(flow["spec"].get("cancel")) or "deletionTimestamp" in flow["metadata"]


def _is_owned(call: Object) -> bool:
    return call.get("wait") is not False and call.get("deletionPolicy") != "Retain"
