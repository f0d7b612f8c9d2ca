"""A cluster in memory for tests of the plan: it applies plans, and tests act as worker, triggerer, kubelet and user.

Every transition uses the patches of the wire contract, so an invalid one fails as at the API server. After each plan it
checks the invariants: no more pods than `parallelism` allows, no two live pods of one TaskRun.
"""

from typing import Any, TypeAlias

from torpor_crds.models import taskrun, workflow
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import TaskStatus, Workflow, WorkflowStatus
from torpor_operator.model.actions import Action, Need, PostEvent
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_operator.model.snapshot import Answer, Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan.planner import plan
from torpor_wire import constants, names, retry, transitions, trigger
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import State
from torpor_wire.transitions import Claim

from tests.support import builders, run_invariants
from tests.support.builders import NAME, NAMESPACE, NOW, UID, Body
from tests.support.memory_api import Stored

ROUNDS = 50

At: TypeAlias = int | Path


class PlanFixture:
    """One Workflow, its TaskRuns and their pods, as JSON; and the time."""

    def __init__(self, *tasks: Body, settings: Settings | None = None, now: float = NOW, **spec: Any) -> None:
        self.now = now
        self.settings = settings or Settings()
        self.api = Stored(builders.workflow(list(tasks), spec, now))
        self.events: list[PostEvent] = []
        self.image_volumes = False

    # The operator.

    def snapshot(self, known: dict[Need, Answer] | None = None) -> Snapshot:
        return builders.snapshot(
            self.workflow,
            self.api.visible(self.taskruns),
            self.api.visible(self.pods),
            known=known or {},
            settings=self.settings,
            now=self.now,
            unconfirmed_pods=self.api.unconfirmed_pods,
            created=self.api.created,
            pools=self.api.pools,
            slots=self.api.slots.get,
            holds=lambda run: run.metadata.name in self.api.holders,
            archive=self.api.archive,
            archival=self.api.archive_outcome(),
            image_volumes=self.image_volumes,
            child_bodies=self.api.visible(self.api.children),
            runs_of_root=self.api.runs_of_root,
            awaited=self.api.awaited,
        )

    def plan(self) -> WorkflowPlan:
        """The plan, with all of its needs answered."""
        known: dict[Need, Answer] = {}
        for _ in range(ROUNDS):
            planned = plan(self.snapshot(known))
            missing = [need for need in planned.needs if need not in known]
            if not missing:
                return planned
            known |= {need: self.api.answer(need) for need in missing}
        raise AssertionError("the plan never stops having needs")

    def apply(self, planned: WorkflowPlan) -> None:
        for action in planned.actions:
            self.act(action)
        self._record_events(planned)
        if planned.status is not None:
            self.workflow["status"] = planned.status.to_json()
        run_invariants.check(self.taskruns.values(), self.pods.values(), self.stored.spec.parallelism)

    def settle(self) -> "PlanFixture":
        """Plan and apply until nothing remains to be done."""
        for _ in range(ROUNDS):
            planned = self.plan()
            if not planned.actions and planned.status in {None, self.stored.status}:
                self._record_events(planned)
                return self
            self.apply(planned)
        raise AssertionError(f"the plan never becomes empty: {planned.actions}")

    def advance(self, seconds: float) -> "PlanFixture":
        """Advance the time, then settle."""
        self.now += seconds
        return self.settle()

    def act(self, action: Action) -> None:
        """Apply one action, as the API server would."""
        self.api.act(action, self.now)

    # The objects.

    @property
    def workflow(self) -> Body:
        return self.api.workflow

    @property
    def taskruns(self) -> dict[str, Body]:
        return self.api.taskruns

    @property
    def pods(self) -> dict[str, Body]:
        return self.api.pods

    @property
    def stored(self) -> Workflow:
        return workflow.parse(self.workflow)

    @property
    def status(self) -> WorkflowStatus:
        return self.stored.status

    def task(self, name: str) -> TaskStatus:
        return next(entry for entry in self.status.tasks if entry.name == name)

    def tasks(self) -> dict[str, str]:
        """The state of each task in the status of the Workflow."""
        return {entry.name: str(entry.state) for entry in self.status.tasks}

    def run(self, task: str, index: At = constants.UNMAPPED) -> TaskRun:
        return taskrun.parse(self.taskruns[self.name(task, index)])

    def name(self, task: str, at: At) -> str:
        """The name of an instance, by its index, or in groups by its path."""
        if isinstance(at, int):
            return names.taskrun(NAME, UID, task, at)
        mapped = next(item.mapped for item in self.stored.spec.tasks if item.name == task)
        return names.taskrun(NAME, UID, task, at[-1] if mapped else constants.UNMAPPED, at[:-1] if mapped else at)

    def by_name(self, name: str) -> TaskRun:
        return taskrun.parse(self.taskruns[name])

    def state(self, task: str, index: At = constants.UNMAPPED) -> State:
        return self.run(task, index).status.state

    def has(self, task: str, index: At = constants.UNMAPPED) -> bool:
        return self.name(task, index) in self.taskruns

    def arguments(self, task: str, index: At = constants.UNMAPPED) -> dict[str, Any]:
        """The arguments of the instance, as in its TaskRun."""
        spec = self.taskruns[self.name(task, index)]["spec"]
        return {entry["name"]: entry.get("value", entry.get("from")) for entry in spec.get("arguments", ())}

    def condition(self, name: str = "Succeeded") -> tuple[str, str, str]:
        entry = next(entry for entry in self.status.conditions if entry.type == name)
        return entry.status, entry.reason, entry.message

    def live_pods(self, task: str, index: At = constants.UNMAPPED) -> list[str]:
        uid = self.run(task, index).metadata.uid
        own = [body for body in self.pods.values() if body["metadata"]["ownerReferences"][0]["uid"] == uid]
        return [pod.name for pod in map(parse_pod, own) if not pod.terminal]

    # Other actors: the pod of a task, its triggerer, the kubelet, users.

    def claim(self, task: str, index: At = constants.UNMAPPED) -> None:
        """The pod claims its segment."""
        run = self.run(task, index)
        pod = self.pods[pod_name(run)]
        claimant = Claim(pod["metadata"]["name"], pod["metadata"]["uid"], "nonce")
        self.api.patch(
            run, transitions.claim(run.pin(launch=True), claimant, started=run.status.started_at, now=self.now)
        )
        pod["status"] = {"phase": "Running"}

    def report_success(self, task: str, index: At = constants.UNMAPPED, result: str | None = None) -> None:
        """The pod, which has claimed, reports a result (JSON text) and ends."""
        run = self.run(task, index)
        self.api.patch(run, transitions.succeed(run.pin(), result, now=self.now))
        self.write_pod(task, index, {"phase": "Succeeded"})

    def report_failure(
        self, task: str, index: At = constants.UNMAPPED, message: str = "it broke", *, exception: str = ""
    ) -> None:
        """The pod reports a failure and ends."""
        run = self.run(task, index)
        policy, details = run.spec.retries.policy(), retry.FailureDetails(exception)
        failed = transitions.fail(
            run.pin(), policy, reason=Reason.ERROR, message=message, now=self.now, details=details
        )
        self.api.patch(run, failed)
        self.write_pod(task, index, {"phase": "Succeeded"})

    def report_deferral(
        self, task: str, index: At = constants.UNMAPPED, *, timeout: float | None = None, exits: bool = True
    ) -> None:
        """The pod stores a trigger and (if `exits`) ends."""
        run = self.run(task, index)
        stored = trigger.build("http", {"url": "a"}, namespace=NAMESPACE, pool="default", now=self.now)
        resume = {"method": "resume", "kwargs": "{}"}
        deadline = None if timeout is None else self.now + timeout
        self.api.patch(run, transitions.defer(run.pin(), stored, resume=resume, deadline=deadline, now=self.now))
        if exits:
            self.write_pod(task, index, {"phase": "Succeeded"})

    def report_event(self, task: str, index: At = constants.UNMAPPED) -> None:
        """The triggerer fires the trigger."""
        run = self.run(task, index)
        self.api.patch(run, transitions.fire(run.pin(), '"event"', deferred=1.0, now=self.now))

    def report_end(self, task: str, index: At = constants.UNMAPPED, result: str | None = None) -> None:
        """The triggerer ends the task without a pod."""
        run = self.run(task, index)
        self.api.patch(run, transitions.succeed(run.pin(), result, now=self.now))

    def report_skip(self, task: str, index: At = constants.UNMAPPED, message: str = "nothing to do") -> None:
        """The pod reports that the task skips itself, and ends; for a deferred task the triggerer does."""
        run = self.run(task, index)
        self.api.patch(run, transitions.skip(run.pin(), message=message, now=self.now))
        if run.status.state is State.RUNNING:
            self.write_pod(task, index, {"phase": "Succeeded"})

    def write_pod(self, task: str, index: At, status: Body) -> None:
        """The kubelet writes the status of the current pod."""
        self.pods[pod_name(self.run(task, index))]["status"] = status

    # The same with the claim before, if it is missing, and the operator's response after.

    def succeed(self, task: str, result: str | None = None, index: At = constants.UNMAPPED) -> "PlanFixture":
        self._claimed(task, index)
        self.report_success(task, index, result)
        return self.settle()

    def fail(self, task: str, message: str = "it broke", index: At = constants.UNMAPPED) -> "PlanFixture":
        self._claimed(task, index)
        self.report_failure(task, index, message)
        return self.settle()

    def skip(self, task: str, message: str = "nothing to do", index: At = constants.UNMAPPED) -> "PlanFixture":
        if self.state(task, index) is not State.DEFERRED:
            self._claimed(task, index)
        self.report_skip(task, index, message)
        return self.settle()

    def defer(
        self, task: str, index: At = constants.UNMAPPED, *, timeout: float | None = None, exits: bool = True
    ) -> "PlanFixture":
        self._claimed(task, index)
        self.report_deferral(task, index, timeout=timeout, exits=exits)
        return self.settle()

    def fire(self, task: str, index: At = constants.UNMAPPED) -> "PlanFixture":
        self.report_event(task, index)
        return self.settle()

    def end_wait(self, task: str, result: str | None = None, index: At = constants.UNMAPPED) -> "PlanFixture":
        self.report_end(task, index, result)
        return self.settle()

    def kubelet(self, task: str, status: Body, index: At = constants.UNMAPPED) -> "PlanFixture":
        self.write_pod(task, index, status)
        return self.settle()

    def reap(self) -> "PlanFixture":
        """Terminating pods end and are removed."""
        self.api.pods = {name: pod for name, pod in self.pods.items() if "deletionTimestamp" not in pod["metadata"]}
        return self.settle()

    def lose_pod(self, task: str, index: At = constants.UNMAPPED) -> None:
        """The pod disappears without a report."""
        del self.pods[pod_name(self.run(task, index))]

    def lose_taskrun(self, task: str, index: At = constants.UNMAPPED) -> None:
        """A user deletes the TaskRun; its pods are deleted with it."""
        run = self.run(task, index)
        del self.taskruns[run.metadata.name]
        self.api.pods = {name: pod for name, pod in self.pods.items() if parse_pod(pod).owner_uid != run.metadata.uid}

    def delete(self) -> None:
        """A user deletes the Workflow."""
        self.api.delete_workflow(self.now)

    def change(self, **spec: Any) -> "PlanFixture":
        """A user changes mutable fields of the spec."""
        self.workflow["spec"] |= spec
        self.workflow["metadata"]["generation"] += 1
        return self.settle()

    def _record_events(self, planned: WorkflowPlan) -> None:
        recorded = {event.key for event in self.events}
        self.events += [event for event in planned.events if event.key not in recorded]

    def _claimed(self, task: str, index: At) -> None:
        if self.state(task, index) is State.SCHEDULED:
            self.claim(task, index)
