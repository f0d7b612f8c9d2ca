"""Carrying out a plan: how many writes are under way, whose turn it is, and when to stop trying."""

import asyncio

from torpor_api.client.api import Api
from torpor_api.client.resources import PODS, TASKRUNS
from torpor_api.models.workflow import Workflow, parse
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.executor import Executor
from torpor_operator.mapping.container_command import Program
from torpor_operator.mapping.instances import Instance
from torpor_operator.model.actions import CreateTaskRun, DeletePod
from torpor_operator.settings import Settings
from torpor_operator.taskrun import builder

from tests.support.builders import python
from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle

ROOM = Settings().workflow_concurrency


class Desk:
    """An executor whose writes take a second each."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock, latency=0.5)  # there and back
        api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        cache = ClusterCache(api, enqueue=lambda _: None, on_orphaned_pod=lambda _: None, jitter=lambda: 0.5)
        self.executor = Executor(api, self.clock, cache, Settings())

    def deletions(self, prefix: str, count: int) -> list[DeletePod]:
        names = [f"{prefix}-{number}" for number in range(count)]
        made = [self.fake.put(PODS, {"metadata": {"name": name, "namespace": "ns"}}) for name in names]
        return [DeletePod(namespace="ns", name=one["metadata"]["name"], uid=one["metadata"]["uid"]) for one in made]

    def posts(self) -> int:
        return sum(request.method == "POST" and "/taskruns" in request.path for request in self.fake.requests)


def workflow(name: str) -> Workflow:
    metadata = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"}
    return parse({"metadata": metadata, "spec": {"image": "i", "tasks": [python("a"), python("b")]}})


def creations(of: Workflow, task: int, count: int) -> list[CreateTaskRun]:
    given = Instance(arguments=(), trigger=None, display_name=None, program=Program(container=None, env=()))
    bodies = (builder.build(of, of.spec.tasks[task], index, instance=given, account="sa") for index in range(count))
    return [CreateTaskRun(body=body) for body in bodies]


async def test_the_taskruns_of_one_task_are_created_side_by_side() -> None:
    desk, run = Desk(), workflow("run")
    applying = asyncio.create_task(desk.executor.apply(run, creations(run, 0, 3 * ROOM)))
    await desk.clock.advance(3.5)
    await settle()
    assert applying.result()
    assert len(desk.fake.all(TASKRUNS)) == 3 * ROOM


async def test_another_workflows_write_waits_for_none_of_a_large_ones() -> None:
    desk = Desk()
    large = asyncio.create_task(desk.executor.apply(workflow("large"), desk.deletions("large", 20 * ROOM)))
    await settle()
    small = asyncio.create_task(desk.executor.apply(workflow("small"), desk.deletions("small", 1)))
    await desk.clock.advance(1.1)
    assert small.done()
    assert not large.done()
    await desk.clock.advance(30)
    assert large.result()


async def test_where_a_taskrun_cannot_be_created_the_rest_of_its_task_waits_for_the_next_plan() -> None:
    desk, run = Desk(), workflow("run")
    desk.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=ROOM))
    refused, others = creations(run, 0, 10 * ROOM), creations(run, 1, 2)
    applying = asyncio.create_task(desk.executor.apply(run, [*refused, *others]))
    await desk.clock.advance(30)
    assert not applying.result()
    assert desk.posts() == ROOM + 2
    assert {one["spec"]["task"] for one in desk.fake.all(TASKRUNS)} == {"b"}
