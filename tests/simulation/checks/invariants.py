"""Checks the invariants at every committed change and at every step of a task's process.

The checks use committed changes and the behaviour of user code only, never the state of the tested code. The first
violation ends the run. `final_state` has the checks that are possible at the end only (I5, I6).
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from torpor.runtime import main
from torpor_kubernetes.client.resources import LEASES, PODS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_kubernetes.client.transport import Response
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_local.apiserver.server import ApiRequest
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, MARK_EDGES, POD_EDGES, START_EDGE, TERMINAL, TRIGGERER_EDGES, State

from tests.simulation.actors.worker import Execution, Watcher
from tests.simulation.checks.creations import Creations
from tests.simulation.checks.failures import judge_retry
from tests.simulation.checks.history_entries import HistoryEntries
from tests.simulation.checks.ordering import Order
from tests.simulation.checks.segment_ends import SegmentEndChecker
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.actors.nodes import RunningPod

REQUESTS_A_SECOND = 120
"""Of one process, in a simulation of a dozen TaskRuns."""

LEASE = "torpor-operator"
SOURCES = frozenset({"cron", "log", "bell"})
_LED = frozenset(collection(kind) for kind in (WORKFLOWS, TASKRUNS, PODS, SCHEDULES))

INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11", "I12")

_OPERATOR_EDGES = {edge for edge in EDGES - MARK_EDGES if edge[1] is not State.SKIPPED} - {
    (State.DEFERRED, State.SCHEDULED),
    (State.RUNNING, State.DEFERRED),
    (State.RUNNING, State.SUCCEEDED),
}
_CONTAINER_EDGES = {(State.RUNNING, State.DEFERRED), (State.RUNNING, State.SUCCEEDED), (State.RUNNING, State.SKIPPED)}
"""What the operator reports for a container, as the pod of a python task does by itself."""


class Violation(NamedTuple):
    """An invariant that did not hold."""

    invariant: str
    what: str


class InvariantChecker(Watcher):
    """One for a simulation."""

    def __init__(self) -> None:
        self.violation: Violation | None = None
        self.checks: Counter[str] = Counter()
        self.creations = Creations(self.expect)
        self.order = Order(self.expect)
        self.ends = SegmentEndChecker(self.expect)
        self.history = HistoryEntries(self.expect)
        self.containers: Watcher = Watcher()  # of pods with several containers
        self._leader = ""
        self._claims: dict[Execution, str] = {}
        self._executed: set[Execution] = set()
        self._inside: dict[str, dict[Execution, str]] = {}
        self.running_pods: Mapping[str, RunningPod] = {}
        self._fires: dict[tuple[str, int, int], str] = {}
        self._fired: set[tuple[str, int, int]] = set()
        self._pods: dict[str, set[str]] = {}
        self._requests: Counter[tuple[Process, int]] = Counter()

    def expect(self, invariant: str, holds: bool, what: str) -> None:
        """Note that an invariant was checked, and the first that does not hold."""
        self.checks[invariant] += 1
        if not holds and self.violation is None:
            self.violation = Violation(invariant, what)

    @property
    def executions(self) -> int:
        """How often user code ran."""
        return len(self._executed)

    # changes

    @property
    def ordered(self) -> bool:
        """Whether requests arrive in time and lists are new: only then is nothing made that nobody knows of."""
        return self.creations.ordered

    def changed(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        if writer.kind == "operator" and entry.address.kind in _LED:
            self._led(writer, entry)
        match entry.address.kind:
            case kind if kind == collection(LEASES) and entry.address.name == LEASE:
                self._leader = (entry.after or {}).get("spec", {}).get("holderIdentity", "")
            case kind if kind == collection(TASKRUNS):
                self._taskrun(writer, entry)
            case kind if kind == collection(PODS):
                self._pod(entry)
            case kind if kind == collection(WORKFLOWS) and entry.after is not None:
                self.order.workflow(entry.before, entry.after)
                self.creations.workflow(entry.before, entry.after, self.order.shape(entry.after))

    def _led(self, writer: Process, entry: ObjectChange) -> None:
        """Only who leads writes: what two do at a time, each takes for what it sees."""
        led = not self.creations.prompt or self._leader == writer.name
        self.expect(
            "I10", led, f"{entry.address.name} is written by {writer.name}, while {self._leader or 'none'} leads"
        )

    def _taskrun(self, writer: Process, entry: ObjectChange) -> None:
        if {"schedule", "notification"} & (entry.after or entry.before or {})["spec"].keys():
            if entry.before is not None and entry.after is not None and writer.kind != "person":
                self._moved(writer, entry.before, entry.after)
            return
        if entry.before is not None and entry.after is not None:
            self.order.changed(entry.after)
        match entry.before, entry.after:
            case None, dict() as after:
                self.creations.created(writer, after)
                self.order.created(after)
            case dict() as before, None:
                self.creations.gone(before)
                self.order.gone(before)
                if "deletionTimestamp" not in before["metadata"]:
                    self.creations.dismissed(writer, before)
                    is_left = writer.kind == "kubelet" and before["status"]["state"] == State.DEFERRED
                    self.expect("I6", not is_left, f"{entry.address.name} is deleted with its run while it waits")
            case dict() as before, dict() as after if (
                "deletionTimestamp" in after["metadata"].keys() - before["metadata"]
            ):
                self.creations.dismissed(writer, before)
            case dict() as before, dict() as after if writer.kind != "person":
                self._moved(writer, before, after)

    def _moved(self, writer: Process, before: Object, after: Object) -> None:
        was, now = before["status"], after["status"]
        if was == now:
            return
        name, uid = after["metadata"]["name"], after["metadata"]["uid"]
        old, new = (was["attempt"], was["segment"], was["launch"]), (now["attempt"], now["segment"], now["launch"])
        edge = (State(was["state"]), State(now["state"]))
        description = f"{name}: {edge[0]} {old} -> {edge[1]} {new} by {writer.name}"
        terminal = edge[0] in TERMINAL
        stays = edge[0] is edge[1] and old == new and not terminal
        self.expect("I4", stays or edge in EDGES, f"{description} is no edge")
        self.expect(
            "I4", new >= old and (new != old or edge[1] is not State.SCHEDULED or stays), f"{description} goes back"
        )
        self._theirs(writer, before, edge, description)
        self.ends.moved(writer, before, after, description)
        judge_retry(self.expect, before, after, description)
        self.history.moved(before, after, description)
        if edge[1] is State.RUNNING:
            self._claims[Execution(uid, *old)] = (now.get("pod") or {}).get("uid", "")
        if edge == (State.DEFERRED, State.SCHEDULED):
            self._fire(uid, was, now, description)
        if now.get("reason") == Reason.LOST != was.get("reason") and edge[0] is State.RUNNING:
            self._given_up(was, description)
        blamed = now.get("reason") == Reason.LAUNCH_FAILED != was.get("reason")
        killed = self.containers.lost_its_runtime(was)
        self.expect("I5", not blamed or killed, f"{description}: {now.get('message')}: but nothing hinders its pod")

    def _theirs(self, writer: Process, run: Object, edge: tuple[State, State], description: str) -> None:
        was, stays = run["status"], edge[0] is edge[1] and edge[0] not in TERMINAL
        match writer.kind:
            case "pod":
                own = Execution(run["metadata"]["uid"], was["attempt"], was["segment"], was["launch"])
                theirs = own == self._execution(writer) and edge in POD_EDGES
                self.expect("I10", theirs, f"{description} is not this pod's to write")
            case "triggerer":
                explains = stays and edge[0] is State.DEFERRED
                self.expect("I10", explains or edge in TRIGGERER_EDGES, f"{description} is not a triggerer's to write")
            case "operator":
                container = run["spec"].get("container") is not None
                late = edge == (State.DEFERRED, State.SCHEDULED) and run["status"].get("next", {}).get("onTimeout")
                marks = edge in MARK_EDGES and "mark" in run["spec"]
                starts = edge == START_EDGE and run["spec"].get("run", {}).get("wait") is False
                theirs = edge in _OPERATOR_EDGES or (container and edge in _CONTAINER_EDGES) or bool(late)
                theirs = theirs or marks or starts
                self.expect("I10", theirs or stays, f"{description} is not the operator's to write")
            case _:
                self.expect("I10", False, f"{description} is nobody's to write")

    def _execution(self, process: Process) -> Execution | None:
        """What the pod that a process is in was made for."""
        pod_process = next(
            (pod_process for pod_process in self.running_pods.values() if pod_process.process is process), None
        )
        return pod_process.program.execution if pod_process and pod_process.program else None

    def _given_up(self, was: Object, description: str) -> None:
        """A task is Lost only where its process really ended without a report, or nobody can say any more."""
        pod_process = self.running_pods.get((was.get("pod") or {}).get("uid", ""))
        if pod_process is None or pod_process.abandoned or pod_process.process is None:
            return
        silent = pod_process.ended is not None and pod_process.ended.code not in {main.DONE, main.FAILED}
        ran = (
            "its process runs"
            if pod_process.ended is None
            else f"its process ended with exit code {pod_process.ended.code}"
        )
        self.expect("I5", silent, f"{description}: Lost, but {ran}")

    def _fire(self, uid: str, was: Object, now: Object, description: str) -> None:
        wait = (uid, was["attempt"], was["segment"])
        self.expect("I1", wait not in self._fired, f"{description}: fired before")
        self._fired.add(wait)
        self._fires[uid, now["attempt"], now["segment"]] = now.get("event", "null")
        if now.get("timedOut"):
            late = was["next"].get("onTimeout") and "event" not in now
            self.expect("I8", bool(late), f"{description}: timed out, but it does not resume then")
            return
        trigger, event = was["trigger"], json.loads(now["event"])
        wanted = json.loads(trigger["kwargs"])
        if trigger["class"] in SOURCES:
            right = True  # checks.schedule_events
        elif trigger["class"] == "time":
            right = wanted["at"] == event
        else:
            right = isinstance(event, dict) and wanted["token"] == event["token"]
        self.expect("I8", right, f"{description}: fired {event}, which is not what {trigger['kwargs']} waits for")

    def _pod(self, entry: ObjectChange) -> None:
        body = entry.after or entry.before or {}
        owner = next((ref["uid"] for ref in body["metadata"].get("ownerReferences", [])), "")
        live = self._pods.setdefault(owner, set())
        if entry.after is None or entry.after["status"].get("phase") in {"Succeeded", "Failed"}:
            live.discard(body["metadata"]["uid"])
        else:
            live.add(body["metadata"]["uid"])
            if self.ordered and entry.before is None:
                self.expect("I3", len(live) <= 1, f"{body['metadata']['name']} is the second live pod of its TaskRun")

    # processes

    def entered(self, pod: Object, execution: Execution, event: object) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        # A claim may be over by now, for it takes time to hear of it; but none was ever entered without.
        self.expect("I2", self._claims.get(execution) == uid, f"{name}: user code begins without a claim of this pod's")
        self.expect("I2", execution not in self._executed, f"{name}: user code runs twice for {tuple(execution)}")
        self._executed.add(execution)
        inside = self._inside.setdefault(execution.uid, {})
        others = [tuple(other) for other, pod_uid in inside.items() if not self._abandoned(pod_uid)]
        self.expect("I3", not others, f"{name}: user code runs while that of {others} does")
        inside[execution] = uid
        wanted = self._fires.get((execution.uid, execution.attempt, execution.segment))
        right = event is None if wanted is None else event == json.loads(wanted)
        self.expect("I8", right and (wanted is not None or execution.segment == 0), f"{name}: {event}, not {wanted}")

    def saw(self, pod: Object, right: bool, what: str) -> None:
        self.expect("I8", right, f"{pod['metadata']['name']}: {what}")

    def left(self, pod: Object, execution: Execution) -> None:
        self._inside.get(execution.uid, {}).pop(execution, None)

    def began(self, pod: Object, execution: Execution, container: str) -> None:
        self.containers.began(pod, execution, container)

    def _abandoned(self, pod_uid: str) -> bool:
        """Whether somebody has said, by deleting it by force, that nobody need wait for this pod's process."""
        pod_process = self.running_pods.get(pod_uid)
        return pod_process is not None and pod_process.abandoned

    def answered(self, process: Process, request: ApiRequest, response: Response | str) -> None:
        """One request: counted, since an answer must never be waited for by asking again and again."""
        self.creations.answered(process, request, response)
        if request.method != "WATCH" and process.kind != "pod":
            window = (process, int(process.loop.time()))
            self._requests[window] += 1
            count = self._requests[window]
            self.expect("I9", count <= REQUESTS_A_SECOND, f"{process.name}: {count} requests in a second")


def held(pod: Object) -> bool:
    """Whether a finalizer of ours keeps a pod."""
    return constants.POD_FINALIZER in pod["metadata"].get("finalizers", [])
