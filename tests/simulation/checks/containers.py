"""Checks pods of several containers and volumes of runs.

C1: the programs of a launch begin once each, in the order of the pod, after its claim. C2: a task succeeds only if all
of them did, with the result of each; an exit code that is a result never fails its task. C3: a pod with a volume of the
run begins after its claim exists, and the claim is deleted as its author says: never before the end of the run.
"""

import json
from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client.resources import CLAIMS, PODS, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, ObjectChange, collection
from torpor_operator.model.pod import MAIN, RUNTIME_CONTAINER
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.simulation.actors.container_sequence import ContainerSequence, report_of
from tests.simulation.actors.worker import KILLED, Execution, Exit, Watcher
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CONTAINER_INVARIANTS = ("C1", "C2", "C3")
_CODE_MAX = 125


class ContainerChecker(Watcher):
    """Observes every commit, and the begin of every program."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._expect = simulation.checker.expect
        self._begun: dict[Execution, list[str]] = {}
        simulation.checker.containers = self

    def began(self, pod: Object, execution: Execution, name: str) -> None:
        """A program begins."""
        begun = self._begun.setdefault(execution, [])
        begun.append(name)
        order = [each["name"] for each in _programs(pod)]
        self._expect("C1", begun == order[: len(begun)], f"{pod['metadata']['name']}: {begun} of {order} have begun")

    def lost_its_runtime(self, status: Object) -> bool:
        pod = self._simulation.nodes.running_pods.get((status.get("pod") or {}).get("uid", ""))
        if pod is None or pod.ended is None or not isinstance(pod.program, ContainerSequence):
            return False
        return pod.ended.code == KILLED and pod.program.last == RUNTIME_CONTAINER

    def observe(self, writer: Process, entry: ObjectChange) -> None:
        """One commit."""
        match entry.address.kind:
            case kind if kind == collection(TASKRUNS) and entry.before is not None and entry.after is not None:
                if writer.kind == "operator":
                    self._moved(entry.before, entry.after)
            case kind if kind == collection(PODS) and entry.before is None and entry.after is not None:
                self._created(entry.after)
            case kind if kind == collection(CLAIMS) and entry.after is None and writer.kind == "operator":
                self._deleted(entry.before or {})

    def check_leaks(self) -> None:
        """After the end of all runs: claims that their runs delete are gone."""
        claims = self._simulation.fake.history.of_kind(collection(CLAIMS))
        by_run = {claim["metadata"]["labels"][constants.LABEL_WORKFLOW_UID]: claim for claim in claims}
        for flow in self._simulation.fake.history.of_kind(collection(WORKFLOWS)):
            claim, status = by_run.get(flow["metadata"]["uid"]), flow.get("status", {})
            if claim is None or constants.FINALIZER in flow["metadata"].get("finalizers", []):
                continue
            is_deleted = _is_deleted_at_end(flow) and "completionTime" in status
            self._expect("C3", not is_deleted, f"{claim['metadata']['name']} outlives {flow['metadata']['name']}")

    def _moved(self, before: Object, after: Object) -> None:
        was, now = before["status"], after["status"]
        pod = self._simulation.nodes.running_pods.get((was.get("pod") or {}).get("uid", ""))
        if was["state"] != State.RUNNING or was == now or pod is None or not isinstance(pod.program, ContainerSequence):
            return
        container, ended = before["spec"]["container"], pod.ended
        name = f"{after['metadata']['name']} is {now['state']}"
        if now["state"] == State.SUCCEEDED:
            self._expect("C2", _has_result(container, ended), f"{name}, but its pod ended with {ended}")
            expected = _result(container, ended, was["attempt"])
            result = json.loads(now.get("result") or "null")
            self._expect("C2", result == expected, f"{name} with {result}, not {expected}")
        elif now.get("reason") == Reason.ERROR and not self._is_stopped(before, pod.name):
            self._expect("C2", not _has_result(container, ended), f"{name}, but its pod ended with {ended}")

    def _is_stopped(self, taskrun: Object, pod: str) -> bool:
        """Whether somebody deletes the pod: the exit code is then that of a stop, and no result."""
        stored = self._simulation.fake.get(PODS, taskrun["metadata"]["namespace"], pod)
        return stored is None or "deletionTimestamp" in stored["metadata"]

    def _created(self, pod: Object) -> None:
        """A claim that its kubelet cannot find keeps a pod Pending for ever."""
        for volume in pod["spec"].get("volumes", ()):
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim is not None:
                exists = self._simulation.fake.get(CLAIMS, pod["metadata"]["namespace"], claim) is not None
                self._expect("C3", exists, f"{pod['metadata']['name']} mounts the claim {claim}, which does not exist")

    def _deleted(self, claim: Object) -> None:
        uid = claim["metadata"]["labels"][constants.LABEL_WORKFLOW_UID]
        flows = self._simulation.fake.history.of_kind(collection(WORKFLOWS))
        flow: Any = next((flow for flow in flows if flow["metadata"]["uid"] == uid), None)
        over = flow is None or "completionTime" in flow.get("status", {}) or "deletionTimestamp" in flow["metadata"]
        self._expect("C3", over, f"{claim['metadata']['name']} is deleted during its run")
        kept = flow is not None and "completionTime" in flow.get("status", {}) and not _is_deleted_at_end(flow)
        self._expect("C3", not kept, f"{claim['metadata']['name']} is deleted, but its author keeps it")


def _is_deleted_at_end(flow: Object) -> bool:
    deletion = flow["spec"]["volumeClaims"][0]["deletion"]
    succeeded = flow.get("status", {}).get("state") == "Succeeded"
    return bool(deletion == "AtEnd" or (deletion == "AfterSuccess" and succeeded))


def _programs(pod: Object) -> list[Object]:
    """The containers that follow a script."""
    others = pod["spec"].get("initContainers", [])
    return [
        each
        for each in (*others, *pod["spec"]["containers"])
        if each["name"] != RUNTIME_CONTAINER and each.get("restartPolicy") != "Always"
    ]


def _has_result(container: Object, ended: Exit | None) -> bool:
    """Whether the programs of a pod succeeded."""
    if ended is None or ended.container != MAIN:
        return False
    return ended.code == 0 or (container.get("result") == "exitCode" and ended.code <= _CODE_MAX)


def _result(container: Object, ended: Exit | None, attempt: int) -> Any:
    if container.get("result") == "exitCode":
        return None if ended is None else ended.code
    steps = container.get("steps")
    if not steps:
        return report_of(MAIN, attempt)
    names = [*(step["name"] for step in steps[:-1]), MAIN]
    return {step["name"]: report_of(name, attempt) for step, name in zip(steps, names, strict=True)}
