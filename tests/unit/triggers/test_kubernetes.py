"""`kubernetes`: what it takes and stores, and that it stays in its namespace."""

from typing import Any

import pytest
from torpor.triggers import Kubernetes
from torpor_kubernetes.client.resources import PODS, Resource

from tests.support.fake_services import services
from tests.support.triggerer_fixture import triggerer_fixture

POD = {"api_version": "v1", "kind": "Pod", "name": "p"}
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", namespaced=False)


def test_it_reads_back_what_it_wrote() -> None:
    kwargs = {**POD, "condition": "object.status.phase == 'Running'", "result": "object.status.podIP"}
    assert Kubernetes(**kwargs).serialize() == ("kubernetes", kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"name": ""}, ValueError, "name is empty"),
        ({"name": "a,metadata.namespace=b"}, ValueError, "not a valid name"),
        ({"name": "../secrets/x"}, ValueError, "not a valid name"),
        ({"kind": 1}, TypeError, "kind must be text"),
        ({"condition": True}, TypeError, "condition must be text"),
        ({"namespace": ""}, ValueError, "namespace is empty"),
    ],
)
def test_what_makes_no_sense_is_refused(kwargs: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Kubernetes(**{**POD, **kwargs})


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"namespace": "kube-system"}, "is not that of the TaskRun"),
        ({"condition": "object.status. =="}, "object.status. =="),
        ({"condition": "pod.status == 1"}, "pod"),
        ({"result": "("}, "'\\('"),
    ],
)
def test_what_is_not_allowed_or_cannot_work_is_refused_where_it_would_run(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Kubernetes(**{**POD, **kwargs}).bind(services())
    Kubernetes(**{**POD, "namespace": "workflows"}).bind(services())


async def test_it_fires_when_the_object_comes_to_meet_the_condition() -> None:
    async with triggerer_fixture() as world:
        kwargs = {**POD, "condition": "object.status.podIP != ''", "result": "object.status.podIP"}
        world.taskrun("a", "kubernetes", kwargs, timeout=600)
        await world.start()
        world.fake.put(PODS, {"metadata": {"name": "p", "namespace": "elsewhere"}, "status": {"podIP": "9.9.9.9"}})
        world.fake.put(PODS, {"metadata": {"name": "q", "namespace": "workflows"}, "status": {"podIP": "9.9.9.9"}})
        pod = world.fake.put(
            PODS, {"metadata": {"name": "p", "namespace": "workflows"}, "status": {"phase": "Pending"}}
        )
        await world.pass_time(5)
        assert world.state_and_reason("a") == ("Deferred", None)
        world.fake.edit(PODS, "workflows", "p", {"status": {"podIP": "10.0.0.1"}})
        await world.settle()
        event = world.status("a")["event"]
        assert f'"uid":"{pod["metadata"]["uid"]}"' in event
        assert event.endswith('"result":"10.0.0.1"}')


async def test_it_goes_on_when_its_watch_breaks_or_falls_behind() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "kubernetes", {**POD, "condition": "object.status.phase == 'Running'"})
        await world.start()
        world.fake.put(PODS, {"metadata": {"name": "p", "namespace": "workflows"}, "status": {"phase": "Pending"}})
        await world.settle()
        world.fake.end_watches(path="/pods")
        world.fake.edit(PODS, "workflows", "p", {"status": {"phase": "Running"}})
        world.fake.compact()
        await world.pass_time(5)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_without_a_condition_it_waits_until_the_object_exists() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "kubernetes", POD)
        world.taskrun("b", "kubernetes", {**POD, "name": "q"}, timeout=60)
        await world.start()
        world.fake.put(PODS, {"metadata": {"name": "p", "namespace": "workflows"}})
        await world.pass_time(61)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.state_and_reason("b") == ("Failed", "DeferralTimeout")
        assert "Pod q does not exist" in world.status("b")["message"]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"kind": "Pods"}, "has no kind 'Pods'"),
        ({"api_version": "example.org/v1"}, "serves no apiVersion"),
        ({"api_version": "v1", "kind": "Node"}, "has no namespace"),
        ({"condition": "object.metadata.name"}, "yields a value of type str, not true or false"),
    ],
)
async def test_what_waiting_cannot_cure_fails_the_taskrun(kwargs: dict[str, Any], words: str) -> None:
    async with triggerer_fixture() as world:
        world.fake.serve(NODES)
        world.fake.put(PODS, {"metadata": {"name": "p", "namespace": "workflows"}})
        world.taskrun("a", "kubernetes", {**POD, **kwargs})
        await world.start()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert words in world.status("a")["message"]


async def test_a_forbidden_kind_is_reported_with_the_missing_right() -> None:
    from tests.support.fake_api import Fault  # noqa: PLC0415

    async with triggerer_fixture() as world:
        world.fake.inject(Fault(status=403, path="/pods", message="pods is forbidden"))
        world.taskrun("a", "kubernetes", POD)
        await world.start()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "aggregate-to-triggerer-watch" in world.status("a")["message"]
