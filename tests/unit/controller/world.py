"""The cluster as the plan sees it, in memory: applies plans, and plays worker, triggerer and kubelet by hand.

Every transition goes through the patches of the wire contract, so an illegal one fails here as it would at the API
server. After each plan it checks what must never be: more pods than the parallelism allows, two live pods of one
TaskRun.
"""

import itertools
from typing import Any, assert_never

from torpor_api import taskrun as taskruns
from torpor_api import workflow as workflows
from torpor_api.taskrun import TaskRun
from torpor_api.workflow import TaskStatus, Workflow, WorkflowStatus
from torpor_cel.evaluator import evaluate_here
from torpor_operator import pods
from torpor_operator.actions import (
    Action,
    ConfirmPod,
    ConfirmTaskRun,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteWorkflow,
    Evaluate,
    Need,
    PatchTaskRun,
    PostEvent,
    SetFinalizers,
)
from torpor_operator.plan import Plan, plan
from torpor_operator.settings import Settings
from torpor_operator.snapshot import Answer, Presence, Snapshot
from torpor_wire import edge, keys, names, times, trigger
from torpor_wire.edge import Claim, Patch
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.fake_api import json_patch
from tests.unit.controller import bodies, invariants
from tests.unit.controller.bodies import NAME, NAMESPACE, NOW, UID, Body

ROUNDS = 50


class World:
    """One Workflow, its TaskRuns and their pods, as JSON; and the time."""

    def __init__(self, *tasks: Body, settings: Settings | None = None, now: float = NOW, **spec: Any) -> None:
        self.now = now
        self.settings = settings or Settings()
        self.workflow: Body = bodies.workflow(list(tasks), spec, now)
        self.taskruns: dict[str, Body] = {}
        self.pods: dict[str, Body] = {}
        self.events: list[PostEvent] = []
        self.confirmed: list[Need] = []
        self.deleted = False
        self.graceful = False  # a deleted pod stays, terminating, until `reap`
        self.unseen: set[str] = set()  # what exists and is not in the store yet, by name
        self.unreadable: set[str] = set()
        self._numbers = itertools.count(1)

    # What the operator does.

    def snapshot(self, known: dict[Need, Answer] | None = None) -> Snapshot:
        hidden = self.unseen | self.unreadable
        return bodies.snapshot(
            self.workflow,
            [body for name, body in sorted(self.taskruns.items()) if name not in hidden],
            [body for name, body in self.pods.items() if name not in hidden],
            known=known or {},
            settings=self.settings,
            now=self.now,
        )

    def plan(self) -> Plan:
        """The plan, everything it needs answered."""
        known: dict[Need, Answer] = {}
        for _ in range(ROUNDS):
            made = plan(self.snapshot(known))
            missing = [need for need in made.needs if need not in known]
            if not missing:
                return made
            known |= {need: self._answer(need) for need in missing}
        raise AssertionError("the plan asks without end")

    def apply(self, made: Plan) -> None:
        for action in made.actions:
            self.act(action)
        self._hear(made)
        if made.status is not None:
            self.workflow["status"] = made.status.to_json()
        invariants.check(self.taskruns.values(), self.pods.values(), self.stored.spec.parallelism)

    def settle(self) -> "World":
        """Plan and apply until there is nothing left to do."""
        for _ in range(ROUNDS):
            made = self.plan()
            if not made.actions and made.status in {None, self.stored.status}:
                self._hear(made)
                return self
            self.apply(made)
        raise AssertionError(f"the plan does not come to an end: {made.actions}")

    def advance(self, seconds: float) -> "World":
        """Let time pass, then settle."""
        self.now += seconds
        return self.settle()

    def act(self, action: Action) -> None:
        """Carry out one action, as the API server would."""
        match action:
            case CreateTaskRun(body=body):
                self._create_taskrun(body)
            case CreatePod(taskrun=run, body=body):
                self._create_pod(run, body)
            case DeletePod(name=name, uid=uid):
                self._delete_pod(name, uid)
            case PatchTaskRun(taskrun=run, patch=patch):
                self.patch(run, patch)
            case SetFinalizers(finalizers=finalizers):
                self.workflow["metadata"]["finalizers"] = list(finalizers)
                self.deleted |= not finalizers and "deletionTimestamp" in self.workflow["metadata"]
            case DeleteWorkflow():
                self.delete()
            case PostEvent():
                self.events.append(action)
            case _:
                assert_never(action)

    # What is there.

    @property
    def stored(self) -> Workflow:
        return workflows.parse(self.workflow)

    @property
    def status(self) -> WorkflowStatus:
        return self.stored.status

    def task(self, name: str) -> TaskStatus:
        return next(entry for entry in self.status.tasks if entry.name == name)

    def tasks(self) -> dict[str, str]:
        """The state of each task, in the words of the Workflow's status."""
        return {entry.name: str(entry.state) for entry in self.status.tasks}

    def run(self, task: str, index: int = keys.UNMAPPED) -> TaskRun:
        return taskruns.parse(self.taskruns[names.taskrun(NAME, UID, task, index)])

    def state(self, task: str, index: int = keys.UNMAPPED) -> State:
        return self.run(task, index).status.state

    def has(self, task: str, index: int = keys.UNMAPPED) -> bool:
        return names.taskrun(NAME, UID, task, index) in self.taskruns

    def arguments(self, task: str, index: int = keys.UNMAPPED) -> dict[str, Any]:
        """What the instance is called with, as it stands on its TaskRun."""
        spec = self.taskruns[names.taskrun(NAME, UID, task, index)]["spec"]
        return {entry["name"]: entry.get("value", entry.get("from")) for entry in spec["arguments"]}

    def condition(self, name: str = "Succeeded") -> tuple[str, str, str]:
        entry = next(entry for entry in self.status.conditions if entry.type == name)
        return entry.status, entry.reason, entry.message

    def live_pods(self, task: str, index: int = keys.UNMAPPED) -> list[str]:
        uid = self.run(task, index).metadata.uid
        found = [pods.parse(body) for body in self.pods.values()]
        return [pod.name for pod in found if pod.owner_uid == uid and not pod.terminal]

    # What others do: the task's pod, its triggerer, the kubelet, people.

    def claim(self, task: str, index: int = keys.UNMAPPED) -> None:
        """The pod claims its segment."""
        run = self.run(task, index)
        pod = self.pods[pods.name_of(run)]
        who = Claim(pod["metadata"]["name"], pod["metadata"]["uid"], "nonce")
        self.patch(run, edge.claim(run.pin(launch=True), who, started=run.status.started_at, now=self.now))
        pod["status"] = {"phase": "Running"}

    def succeed(self, task: str, result: str | None = None, index: int = keys.UNMAPPED) -> "World":
        """The pod claims, if it has not, and reports a result (JSON text)."""
        run = self._claimed(task, index)
        self.patch(run, edge.succeed(run.pin(), result, now=self.now))
        return self._exited(run).settle()

    def fail(self, task: str, message: str = "it broke", index: int = keys.UNMAPPED) -> "World":
        """The pod claims, if it has not, and reports a failure."""
        run = self._claimed(task, index)
        policy = run.spec.retries.policy()
        self.patch(run, edge.fail(run.pin(), policy, reason=Reason.ERROR, message=message, now=self.now))
        return self._exited(run).settle()

    def defer(
        self, task: str, index: int = keys.UNMAPPED, *, timeout: float | None = None, exits: bool = True
    ) -> "World":
        """The pod claims, if it has not, leaves a trigger, and (if `exits`) ends."""
        run = self._claimed(task, index)
        made = trigger.build("http", {"url": "a"}, namespace=NAMESPACE, pool="default", now=self.now)
        resume = {"method": "resume", "kwargs": "{}"}
        deadline = None if timeout is None else self.now + timeout
        self.patch(run, edge.defer(run.pin(), made, resume=resume, deadline=deadline, now=self.now))
        return (self._exited(run) if exits else self).settle()

    def fire(self, task: str, index: int = keys.UNMAPPED) -> "World":
        """The triggerer fires."""
        run = self.run(task, index)
        self.patch(run, edge.fire(run.pin(), '"event"', now=self.now))
        return self.settle()

    def end_wait(self, task: str, result: str | None = None, index: int = keys.UNMAPPED) -> "World":
        """The triggerer ends the task without a pod."""
        run = self.run(task, index)
        self.patch(run, edge.succeed(run.pin(), result, now=self.now))
        return self.settle()

    def kubelet(self, task: str, status: Body, index: int = keys.UNMAPPED) -> "World":
        """The kubelet writes the status of the present pod."""
        self.pods[pods.name_of(self.run(task, index))]["status"] = status
        return self.settle()

    def reap(self) -> "World":
        """Terminating pods are gone."""
        self.pods = {name: pod for name, pod in self.pods.items() if "deletionTimestamp" not in pod["metadata"]}
        return self.settle()

    def lose_pod(self, task: str, index: int = keys.UNMAPPED) -> None:
        """The pod is gone, with nobody to tell of it."""
        del self.pods[pods.name_of(self.run(task, index))]

    def lose_taskrun(self, task: str, index: int = keys.UNMAPPED) -> None:
        """Somebody deletes the TaskRun; its pods go with it."""
        run = self.run(task, index)
        del self.taskruns[run.metadata.name]
        self.pods = {name: pod for name, pod in self.pods.items() if pods.parse(pod).owner_uid != run.metadata.uid}

    def delete(self) -> None:
        """Somebody deletes the Workflow."""
        self.workflow["metadata"]["deletionTimestamp"] = times.rfc3339(self.now)
        self.deleted = not self.workflow["metadata"]["finalizers"]

    def change(self, **spec: Any) -> "World":
        """Somebody changes what may be changed of the spec."""
        self.workflow["spec"] |= spec
        self.workflow["metadata"]["generation"] += 1
        return self.settle()

    def patch(self, run: TaskRun, patch: Patch) -> None:
        body = json_patch.apply(self.taskruns[run.metadata.name], patch)
        body["status"] = {name: value for name, value in body["status"].items() if value is not None}
        self.taskruns[run.metadata.name] = body

    def _hear(self, made: Plan) -> None:
        heard = {event.key for event in self.events}
        self.events += [event for event in made.events if event.key not in heard]

    def _claimed(self, task: str, index: int) -> TaskRun:
        if self.state(task, index) is State.SCHEDULED:
            self.claim(task, index)
        return self.run(task, index)

    def _exited(self, run: TaskRun) -> "World":
        self.pods[pods.name_of(run)]["status"] = {"phase": "Succeeded"}
        return self

    def _create_taskrun(self, body: Body) -> None:
        name = body["metadata"]["name"]
        if name in self.taskruns:
            self.unseen.discard(name)
            return
        self.taskruns[name] = bodies.created(body, f"taskrun-{next(self._numbers)}", self.now, bodies.FRESH)

    def _create_pod(self, run: TaskRun, body: Body) -> None:
        name = body["metadata"]["name"]
        if name in self.pods:
            self.unseen.discard(name)
            return
        if run.metadata.name in self.taskruns:
            self.pods[name] = bodies.created(body, f"pod-{next(self._numbers)}", self.now, {"phase": "Pending"})

    def _delete_pod(self, name: str, uid: str) -> None:
        pod = self.pods.get(name)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        if self.graceful:
            pod["metadata"]["deletionTimestamp"] = times.rfc3339(self.now)
        else:
            del self.pods[name]

    def _answer(self, need: Need) -> Answer:
        match need:
            case Evaluate(expression=expression, variables=variables):
                return evaluate_here(expression, variables.values)
            case ConfirmTaskRun(name=name):
                self.confirmed.append(need)
                if name in self.unreadable:
                    return Presence.UNREADABLE
                self.unseen.discard(name)
                return Presence.PRESENT if name in self.taskruns else Presence.GONE
            case ConfirmPod(name=name, uid=uid):
                self.confirmed.append(need)
                self.unseen.discard(name)
                held = self.pods.get(name)
                return Presence.PRESENT if held and held["metadata"]["uid"] == uid else Presence.GONE
            case _:
                assert_never(need)
