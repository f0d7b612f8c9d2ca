"""Checks notifications.

N1: the last end of a run that was not cancelled is accepted by each receiver that wants it. N2: a run has at most one
message of an event for each receiver, and one more for each clear, however often it is sent. N3: a message that is
settled is never created again. N4: no run is deleted by its TTL while a message of it is pending, and no message has
a pod.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_wire.state import TERMINAL

from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

NOTIFICATION_INVARIANTS = ("N1", "N2", "N3", "N4")
_ENDS = {"Succeeded": "success", "Failed": "failure"}


class NotificationChecker:
    """Observes every commit."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._expect = simulation.checker.expect
        self._clears: dict[str, int] = {}
        self._settled: set[str] = set()
        self._sending: dict[str, str] = {}

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        match entry.address.kind:
            case kind if kind == collection(WORKFLOWS) and entry.after is not None:
                self._workflow(entry.after)
            case kind if kind == collection(WORKFLOWS) and entry.before is not None:
                self._deleted(writer, entry.before)
            case kind if kind == collection(TASKRUNS) and entry.before is None and entry.after is not None:
                self._created(entry.after)
            case kind if kind == collection(PODS) and entry.after is not None:
                owner = next((each["uid"] for each in entry.after["metadata"].get("ownerReferences", ())), "")
                self._expect("N4", owner not in self._sending, f"{entry.address.name} is a pod of a notification")

    def check_end(self) -> None:
        """After the end of all runs."""
        ids: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for message in self._simulation.receiver.accepted:
            ids[message.id.rpartition("-")[0], message.entry, message.event].add(message.id)
        for (uid, entry, event), found in ids.items():
            most = 1 if event == "late" else 1 + self._clears.get(uid, 0)
            self._expect("N2", len(found) <= most, f"{entry} of {uid}: {len(found)} messages of {most} x {event}")
        for flow in self._simulation.fake.history.of_kind(collection(WORKFLOWS)):
            self._judge(flow, {key for key, found in ids.items() if found})

    def _judge(self, flow: Object, accepted: set[tuple[str, str, str]]) -> None:
        spec, status, uid = flow["spec"], flow.get("status", {}), flow["metadata"]["uid"]
        if spec.get("cancel") or "completionTime" not in status:
            return
        event = _ENDS[status["state"]]
        for entry in spec.get("notify", ()):
            got = (uid, entry["name"], event) in accepted
            self._expect("N1", got, f"{flow['metadata']['name']}: {entry['name']} was never told of its {event}")

    def _workflow(self, flow: Object) -> None:
        status = flow.get("status", {})
        self._clears[flow["metadata"]["uid"]] = status.get("clears", 0)
        self._settled |= {each["id"] for each in status.get("notifications", ()) if each["state"] != "Pending"}

    def _created(self, taskrun: Object) -> None:
        of = taskrun["spec"].get("notification")
        if of is not None:
            self._sending[taskrun["metadata"]["uid"]] = of["id"]
            if self._simulation.checker.ordered:  # a request that arrives late may create what was settled and deleted
                self._expect("N3", of["id"] not in self._settled, f"{taskrun['metadata']['name']} is sent again")

    def _deleted(self, writer: Process, flow: Object) -> None:
        if writer.kind != "operator" or "deletionTimestamp" in flow["metadata"]:
            return
        uid, name = flow["metadata"]["uid"], flow["metadata"]["name"]
        for taskrun in self._simulation.fake.history.of_kind(collection(TASKRUNS)):
            if "notification" in taskrun["spec"] and taskrun["spec"]["workflow"]["uid"] == uid:
                settled = taskrun["status"]["state"] in TERMINAL
                self._expect("N4", settled, f"{name} is deleted before {taskrun['metadata']['name']} has ended")
