"""Executing actions: concurrency, order, failures, and leadership."""

import asyncio
from collections.abc import Callable

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_crds.models.workflow import Workflow, WorkflowStatus, parse
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_operator.controller.cluster_writer import ClusterWriter
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.mapping.container_command import ContainerCommand
from torpor_operator.mapping.instances import InstanceInputs
from torpor_operator.model.actions import CreateTaskRun, DeletePod, PatchTaskRun, RemovePodFinalizer, SetFinalizers
from torpor_operator.settings import Settings
from torpor_operator.taskrun import builder
from torpor_operator.workflows.executor import WorkflowExecutor
from torpor_wire import retry, transitions
from torpor_wire.reason import Reason

from tests.support.builders import python
from tests.support.controller_harness import build_cache
from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle

LIMIT = Settings().workflow_concurrency


def make_executor(api: Api, is_leader: Callable[[], bool] = lambda: True) -> tuple[WorkflowExecutor, ClusterWriter]:
    writer = ClusterWriter(api, WriteLimits.build(api, Settings()), is_leader=is_leader)
    return WorkflowExecutor(api, build_cache(api), writer, Settings(), archive_run=lambda _: None), writer


class SlowExecutor:
    """An executor whose writes take a second each."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock, latency=0.5)  # there and back
        api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        self.executor, _ = make_executor(api)

    def deletions(self, prefix: str, count: int) -> list[DeletePod]:
        names = [f"{prefix}-{number}" for number in range(count)]
        pods = [self.fake.put(PODS, {"metadata": {"name": name, "namespace": "ns"}}) for name in names]
        return [DeletePod(namespace="ns", name=pod["metadata"]["name"], uid=pod["metadata"]["uid"]) for pod in pods]

    def posts(self) -> int:
        return sum(request.method == "POST" and "/taskruns" in request.path for request in self.fake.requests)


def workflow(name: str = "run", namespace: str = "ns") -> Workflow:
    metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
    return parse({"metadata": metadata, "spec": {"image": "i", "tasks": [python("a"), python("b")]}})


def creations(of: Workflow, task: int, count: int) -> list[CreateTaskRun]:
    given = InstanceInputs(
        arguments=(), trigger=None, display_name=None, program=ContainerCommand(container=None, env=())
    )
    bodies = (builder.build(of, of.spec.tasks[task], index, instance=given, account="sa") for index in range(count))
    return [CreateTaskRun(body=body) for body in bodies]


async def test_the_taskruns_of_one_task_are_created_concurrently() -> None:
    slow, run = SlowExecutor(), workflow("run")
    applying = asyncio.create_task(slow.executor.apply(run, creations(run, 0, 3 * LIMIT)))
    await slow.clock.advance(3.5)
    await settle()
    assert not applying.result()
    assert len(slow.fake.all(TASKRUNS)) == 3 * LIMIT


async def test_a_write_does_not_wait_for_all_writes_of_a_large_workflow() -> None:
    slow = SlowExecutor()
    large = asyncio.create_task(slow.executor.apply(workflow("large"), slow.deletions("large", 20 * LIMIT)))
    await settle()
    small = asyncio.create_task(slow.executor.apply(workflow("small"), slow.deletions("small", 1)))
    await slow.clock.advance(1.1)
    assert small.done()
    assert not large.done()
    await slow.clock.advance(30)
    assert not large.result()


@pytest.mark.attack
async def test_a_namespace_with_very_many_writes_delays_another_by_one() -> None:
    slow = SlowExecutor()
    greedy = [
        asyncio.create_task(slow.executor.apply(workflow(f"w{number}"), slow.deletions(f"w{number}", 20)))
        for number in range(20)
    ]
    await settle()
    small = asyncio.create_task(slow.executor.apply(workflow("quiet", "other"), slow.deletions("quiet", 3)))
    await slow.clock.advance(2.1)
    assert small.done()
    assert not any(task.done() for task in greedy)
    await slow.clock.advance(60)
    assert all(task.done() for task in greedy)


async def test_after_a_failed_creation_other_instances_wait_for_the_next_pass() -> None:
    slow, run = SlowExecutor(), workflow("run")
    slow.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=LIMIT))
    refused, others = creations(run, 0, 10 * LIMIT), creations(run, 1, 2)
    applying = asyncio.create_task(slow.executor.apply(run, [*refused, *others]))
    await slow.clock.advance(30)
    assert applying.result()
    assert slow.posts() == LIMIT + 2
    assert {taskrun["spec"]["task"] for taskrun in slow.fake.all(TASKRUNS)} == {"b"}


async def test_a_replica_that_is_not_the_leader_writes_nothing() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    api = Api(fake, clock, jitter=lambda: 0.5)
    executor, writer = make_executor(api, is_leader=lambda: False)
    release = RemovePodFinalizer(namespace="ns", name="pod", uid="u", finalizers=())

    assert await executor.apply(workflow(), [SetFinalizers(finalizers=("torpor.dev/cancel-first",))])
    assert not await executor.write_status(workflow(), WorkflowStatus(state="Running"))
    with pytest.raises(errors.ApiUnavailable):
        await writer.send("ns", lambda: executor.pods.remove_finalizer(release))
    assert fake.requests == []


@pytest.mark.parametrize("claimed", [False, True])
async def test_a_pod_stays_that_claimed_its_taskrun_as_the_attempt_timed_out(*, claimed: bool) -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    pod = fake.put(PODS, {"metadata": {"name": "pod", "namespace": "ns"}})
    status = {"state": "Scheduled", "attempt": 1, "segment": 0, "history": []}
    body = creations(workflow(), 0, 1)[0].body | {"status": status}
    seen = taskruns.parse(fake.put(TASKRUNS, body))
    if claimed:
        fake.edit(TASKRUNS, "ns", seen.metadata.name, {"status": {"state": "Running"}})
    executor, _ = make_executor(Api(fake, clock, jitter=lambda: 0.5))
    patch = transitions.fail(seen.pin(), retry.Policy(), reason=Reason.TIMEOUT, message="late", now=clock.now())
    ended = DeletePod(namespace="ns", name="pod", uid=pod["metadata"]["uid"])

    await executor.apply(workflow(), [PatchTaskRun(taskrun=seen, patch=patch, ended_pods=(ended,))])

    assert (fake.get(PODS, "ns", "pod") is not None) is claimed


async def test_a_cancelled_leader_finishes_its_write_before_it_releases_the_lease() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock, latency=1.0)
    pod = fake.put(PODS, {"metadata": {"name": "pod", "namespace": "ns"}})
    executor, writer = make_executor(Api(fake, clock, jitter=lambda: 0.5))
    applying = asyncio.create_task(
        executor.apply(workflow(), [DeletePod(namespace="ns", name="pod", uid=pod["metadata"]["uid"])])
    )
    await settle()
    applying.cancel()
    drained = asyncio.create_task(writer.drain())
    await settle()
    assert applying.cancelled()
    assert not drained.done()
    await clock.advance(2.0)
    assert drained.done()
    assert fake.get(PODS, "ns", "pod") is None
