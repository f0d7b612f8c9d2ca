"""The whole controller with an API server in memory, in virtual time, and with scripted pods.

A reflector reports Workflows instead of kopf.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry
from torpor_crds.models import taskrun as taskruns
from torpor_expressions.evaluator import Evaluating, InProcess
from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_kubernetes.timing import Clock
from torpor_local.apiserver.history import collection
from torpor_local.apiserver.server import ApiRequest
from torpor_local.controllers import NoArchive
from torpor_operator.app import ArchiveClients, EnabledComponents, Operator
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_operator.observability.operator_metrics import OperatorMetrics
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.settings import Settings
from torpor_operator.workflows.controller import WorkflowController
from torpor_wire import constants, names, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State
from torpor_wire.transitions import Claim

from tests.support import run_invariants
from tests.support.builders import NAMESPACE, Body
from tests.support.fake_api import FakeApi, VirtualClock, settle

Script = Callable[[str, int], str | None]
"""The function of a task, by task and attempt: returns the result as JSON text, or raises RuntimeError."""


ALL = EnabledComponents()


class Leader:
    """Holds the Lease while `is_leader` returns True."""

    def __init__(self, is_leader: Callable[[], bool] = lambda: True) -> None:
        self._is_leader = is_leader

    def holds(self) -> bool:
        return self._is_leader()

    async def run(self, lead: Loop, ready: Loop) -> None:
        await ready()
        await lead()


def build_operator(  # noqa: PLR0913 - what a test replaces
    api: Api,
    settings: Settings,
    enabled: EnabledComponents = ALL,
    *,
    is_leader: Callable[[], bool] = lambda: True,
    evaluator: Evaluating | None = None,
    metrics: OperatorMetrics | None = None,
    spans: SpanExporter | None = None,
) -> Operator:
    """Build it; nothing is sent before its loops run."""
    absent, leader = NoArchive(), Leader(is_leader)
    clients = ArchiveClients(store=absent, post=absent.post, reader=absent)
    return Operator.build(
        api,
        settings,
        evaluator or InProcess(),
        clients,
        leadership=leader,
        jitter=lambda: 0.5,
        enabled=enabled,
        metrics=metrics,
        spans=spans,
    )


def build_cache(api: Api) -> ClusterCache:
    """A cache of the cluster alone."""
    return ClusterCache(api, Settings(), guard=WorkGuard(), jitter=lambda: 0.5)


class OperatorHarness:
    """An API server in memory, and the loops of an operator that run against it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock)
        self._tasks: list[asyncio.Task[Any]] = []

    def get(self, resource: Resource, name: str) -> Body:
        """Return an object that exists."""
        body = self.fake.get(resource, NAMESPACE, name)
        assert body is not None, f"no {resource.kind} {name}"
        return body

    def writes(self, method: str, kind: str) -> list[ApiRequest]:
        """Return the requests with a method about a kind."""
        return [write for write in self.fake.writes() if write.method == method and f"/{kind}" in write.path]

    def watch_workflows(self, api: Api, cache: ClusterCache) -> Reflector[Body]:
        """Build the reflector that reports Workflows to the cache, instead of kopf."""

        def store(change: Notice[Body]) -> None:
            assert not isinstance(change, Unreadable)
            body = change.item or change.previous
            if body is not None:
                cache.store_workflow(body, deleted=change.item is None)

        return Reflector(api, WORKFLOWS, dict, on_change=store, jitter=lambda: 0.5)

    def patch_taskrun(self, name: str, patch: transitions.Patch) -> None:
        """Write the status of a TaskRun, as a pod or a triggerer does."""
        address = self.fake.objects.address(TASKRUNS, NAMESPACE, name)
        self.fake.objects.patch(TASKRUNS, address, list(patch), "status")
        self.fake.bookmark()

    async def stop(self) -> None:
        """Stop all loops at once, also during a write. None must have ended before."""
        ended = [task for task in self._tasks if task.done()]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert not ended, [task.exception() for task in ended]


class ControllerHarness(OperatorHarness):
    """The controller of Workflows, with scripted pods."""

    def __init__(
        self,
        settings: Settings,
        *,
        evaluator: Evaluating | None = None,
        spans: Callable[[Clock, CollectorRegistry], SpanExporter] | None = None,
    ) -> None:
        super().__init__()
        self.script: Script = lambda _task, _attempt: None
        self._checked = 0
        api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        metrics = OperatorMetrics()
        self.operator = build_operator(
            api,
            settings,
            EnabledComponents(schedules=False),
            evaluator=evaluator,
            metrics=metrics,
            spans=spans(self.clock, metrics.registry) if spans else None,
        )
        self.context = self.operator.context
        self.cache = self.context.cluster
        controller = self.operator.kinds[0]
        assert isinstance(controller, WorkflowController)
        self.controller = controller
        self.api = api
        self._workflows = self.watch_workflows(api, self.cache)

    def create(self, name: str, *tasks: Body, **spec: Any) -> None:
        """Create a Workflow."""
        metadata = {"name": name, "namespace": NAMESPACE}
        self.fake.put(WORKFLOWS, {"metadata": metadata, "spec": {"image": "i", "tasks": list(tasks), **spec}})

    async def advance(self, seconds: float) -> None:
        """Advance the clock; the pods work in steps of a tenth of a second."""
        for _ in range(round(seconds * 10)):
            await self.clock.advance(0.1)
            self._work()
            await settle()

    def workflow(self, name: str) -> Body:
        return self.get(WORKFLOWS, name)

    def state(self, name: str) -> str:
        return str(self.workflow(name).get("status", {}).get("state"))

    def taskrun(self, workflow: str, task: str, index: int = constants.UNMAPPED) -> Body:
        return self.get(TASKRUNS, names.taskrun(workflow, self.workflow(workflow)["metadata"]["uid"], task, index))

    def stored(self, resource: Resource) -> list[Body]:
        """All objects of a kind, to read only: copies of thousands take most of the time of a test."""
        return self.fake.history.of_kind(collection(resource))

    def _work(self) -> None:
        for body in self.stored(PODS):
            if body["status"]["phase"] == "Pending":
                self._run_pod(body)
        if self._checked != self.fake.history.version:
            self._checked = self.fake.history.version
            self._check_invariants()

    def _check_invariants(self) -> None:
        runs, pods = self.stored(TASKRUNS), [(parse_pod(pod).owner_uid, pod) for pod in self.stored(PODS)]
        for workflow in self.stored(WORKFLOWS):
            uid = workflow["metadata"]["uid"]
            own = [run for run in runs if run["spec"]["workflow"]["uid"] == uid]
            owners = {run["metadata"]["uid"] for run in own}
            its = [pod for owner, pod in pods if owner in owners]
            run_invariants.check(own, its, workflow["spec"].get("parallelism", 50))

    def _run_pod(self, body: Body) -> None:
        """Claim, run the script and report; a pod that is not the present one of its TaskRun exits."""
        name, pod = body["metadata"]["name"], parse_pod(body)
        owner = self.fake.get(TASKRUNS, NAMESPACE, pod.owner_name)
        run = taskruns.parse(owner) if owner and owner["metadata"]["uid"] == pod.owner_uid else None
        if run and run.status.state is State.SCHEDULED and pod_name(run) == name:
            who = Claim(name, body["metadata"]["uid"], "nonce")
            self.patch_taskrun(
                run.metadata.name, transitions.claim(run.pin(launch=True), who, started=None, now=self.clock.now())
            )
            self._report(run.metadata.name)
        self.fake.edit(PODS, NAMESPACE, name, {"status": {"phase": "Succeeded"}})

    def _report(self, name: str) -> None:
        run = taskruns.parse(self.fake.get(TASKRUNS, NAMESPACE, name))
        policy, now = run.spec.retries.policy(), self.clock.now()
        try:
            result = self.script(run.spec.task, run.status.attempt)
        except RuntimeError as error:
            patch = transitions.fail(run.pin(), policy, reason=Reason.ERROR, message=str(error), now=now)
        else:
            patch = transitions.succeed(run.pin(), result, now=now)
        self.patch_taskrun(name, patch)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ControllerHarness"]:
        """Run the controller as the leader."""
        reflectors: list[Reflector[Any]] = [self.cache.taskruns, self.cache.pods, self._workflows]
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in reflectors]
        await settle()
        self._tasks.append(asyncio.create_task(self.controller.run()))
        try:
            yield self
        finally:
            await self.stop()
