"""A run starts with the defaults of its namespace and of the installation, and in a namespace that allows its pods."""

import json
from typing import Any

import pytest
from torpor_operator.model.actions import ReadNamespace
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.settings import Settings
from torpor_wire.state import RunState, State

from tests.support.builders import NAMESPACE, container, python
from tests.support.plan_fixture import PlanFixture


def _unstarted(*tasks: Any, settings: Settings | None = None, **spec: Any) -> PlanFixture:
    world = PlanFixture(*tasks, settings=settings, **spec)
    world.workflow["metadata"]["finalizers"] = []
    return world


def test_the_defaults_of_the_namespace_are_added_when_the_run_starts() -> None:
    world = _unstarted(container("a"), defaults={"timeout": "1h"})
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"timeout": "2h", "retries": {"limit": 4}}))
    world.settle()
    assert world.workflow["spec"]["defaults"] == {"timeout": "1h", "retries": {"limit": 4}}
    run = world.run("a").spec
    assert (run.timeout, run.retries.limit) == ("1h", 4)


def test_those_of_the_installation_come_last() -> None:
    settings = Settings(task_defaults=json.dumps({"timeout": "3h", "retries": {"limit": 9, "delay": "7s"}}))
    world = _unstarted(container("a"), settings=settings)
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"retries": {"limit": 4}}))
    run = world.settle().run("a").spec
    assert (run.timeout, run.retries.limit, run.retries.delay) == ("3h", 4, "7s")


def test_a_run_without_defaults_is_not_changed() -> None:
    world = _unstarted(container("a"))
    assert "defaults" not in world.settle().workflow["spec"]


def test_a_later_change_of_the_namespace_does_not_change_the_run() -> None:
    world = _unstarted(container("a"), container("b", after=["a"])).settle()
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"timeout": "2h"}))
    world.kubelet("a", {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]})
    assert world.run("b").spec.timeout is None


def test_a_run_waits_until_invalid_defaults_are_corrected() -> None:
    world = _unstarted(container("a"))
    world.api.namespace = NamespaceFacts(defaults="{")
    world.settle()
    assert (world.stored.status.state, world.taskruns) == (RunState.PENDING, {})
    assert "torpor.dev/defaults of namespace" in world.condition()[2]
    assert world.plan().again_at is not None
    world.api.namespace = NamespaceFacts()
    assert world.advance(10).state("a") is State.RUNNING


@pytest.mark.parametrize("field", ["cancel", "stop"])
def test_a_run_that_is_ended_while_it_waits_ends(field: str) -> None:
    world = _unstarted(container("a"))
    world.api.namespace = NamespaceFacts(defaults="{")
    world.settle().workflow["spec"][field] = True
    world.settle()
    assert world.stored.status.completion_time is not None
    assert world.condition()[1:] == ("Cancelled", f"spec.{field} was set")


def test_only_a_pod_with_privileges_costs_a_read_of_the_namespace() -> None:
    world = PlanFixture(python("a")).settle()
    assert ReadNamespace(NAMESPACE) not in world.api.confirmed


def test_a_pod_with_privileges_starts_in_a_namespace_that_allows_them() -> None:
    world = PlanFixture(container("a", pod={"securityContext": {"runAsUser": 0}}))
    world.api.namespace = NamespaceFacts(level="baseline")
    (pod,) = world.settle().pods.values()
    assert pod["spec"]["containers"][0]["securityContext"]["runAsUser"] == 0


def test_elsewhere_its_task_fails_and_other_tasks_go_on() -> None:
    root = container("a", pod={"securityContext": {"runAsUser": 0}}, retries={"limit": 3})
    world = PlanFixture(root, container("b")).settle()
    status = world.run("a").status
    assert (status.state, status.reason) == (State.FAILED, "LaunchFailed")
    assert "runAsUser needs Pod Security level baseline" in (status.message or "")
    assert len(world.live_pods("b")) == 1


def test_a_sidecar_with_a_port_of_the_node_fails_its_task() -> None:
    sidecar = {"name": "db", "image": "postgres", "ports": [{"containerPort": 80, "hostPort": 80}]}
    world = PlanFixture(container("a", pod={"sidecars": [sidecar]})).settle()
    assert "hostPort needs Pod Security level privileged" in (world.run("a").status.message or "")
    assert world.pods == {}
