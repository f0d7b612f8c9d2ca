"""A leader that was stopped in the middle of its work wakes with the next write in its hand, and does not make it.

One that is told to stop ends the write that is under way before it gives up the Lease: the next leader lists what there
is, and would not see what arrives after that.
"""

import asyncio
from collections.abc import Callable

import pytest
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import PODS
from torpor_api.models.workflow import Workflow, WorkflowStatus, parse
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.executor import Executor
from torpor_operator.model.actions import DeletePod, RemovePodFinalizer, SetFinalizers
from torpor_operator.settings import Settings

from tests.support.builders import python
from tests.support.fake_api import FakeApi, VirtualClock, settle


def workflow() -> Workflow:
    metadata = {"name": "run", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    return parse({"metadata": metadata, "spec": {"image": "i", "tasks": [python("a")]}})


def executor_of(fake: FakeApi, clock: VirtualClock, is_leader: Callable[[], bool]) -> Executor:
    api = Api(fake, clock, jitter=lambda: 0.5)
    cache = ClusterCache(api, enqueue=lambda _: None, on_orphaned_pod=lambda _: None, jitter=lambda: 0.5)
    return Executor(api, clock, cache, Settings(), is_leader=is_leader)


async def test_who_does_not_lead_writes_nothing() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    executor = executor_of(fake, clock, is_leader=lambda: False)

    assert not await executor.apply(workflow(), [SetFinalizers(finalizers=("torpor.dev/cancel-first",))])
    assert not await executor.write_status(workflow(), WorkflowStatus(state="Running"))
    with pytest.raises(errors.Unavailable):
        await executor.remove_finalizer(RemovePodFinalizer(namespace="ns", name="pod", uid="u", finalizers=()))
    assert fake.requests == []


async def test_who_is_told_to_stop_ends_the_write_that_is_under_way() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock, latency=1.0)
    pod = fake.put(PODS, {"metadata": {"name": "pod", "namespace": "ns"}})
    executor = executor_of(fake, clock, is_leader=lambda: True)
    applying = asyncio.create_task(
        executor.apply(workflow(), [DeletePod(namespace="ns", name="pod", uid=pod["metadata"]["uid"])])
    )
    await settle()
    applying.cancel()
    drained = asyncio.create_task(executor.drain())
    await settle()
    assert applying.cancelled()
    assert not drained.done()
    await clock.advance(2.0)
    assert drained.done()
    assert fake.get(PODS, "ns", "pod") is None
