"""A namespace that is not set up gets no objects, and its Workflows show the cause."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.transport import JSON, Response
from torpor_operator.controller.namespaces import Namespaces
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import CreateTaskRun, ResumeRun, SetFinalizers
from torpor_operator.model.workflow_plan import requires_role
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan import planner
from torpor_wire import constants

from tests.support import builders
from tests.support.fake_api import VirtualClock, settle


@dataclass(kw_only=True)
class Authorizer:
    """An API server that answers reviews, and nothing else."""

    allowed: set[str] = field(default_factory=set)
    reviewed: list[str] = field(default_factory=list)

    async def request(
        self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = JSON
    ) -> Response:
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        namespace = body["spec"]["resourceAttributes"]["namespace"]
        self.reviewed.append(namespace)
        return Response(201, body | {"status": {"allowed": namespace in self.allowed}})

    def stream(self, path: str, *, query: Any) -> NoReturn:
        raise AssertionError(f"{path} {query}")


@dataclass(kw_only=True)
class NamespacesFixture:
    """Namespaces, the controller that uses some of them, and those that changed."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    authorizer: Authorizer = field(default_factory=Authorizer)
    used: set[str] = field(default_factory=lambda: {"team"})
    changed: list[str] = field(default_factory=list)

    def object_keys(self) -> list[Key]:
        return [Key(namespace, "run") for namespace in self.used]

    def enqueue(self, key: Key) -> None:
        self.changed.append(key.namespace)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Namespaces]:
        namespaces = Namespaces(Api(self.authorizer, self.clock), "torpor-system")
        task = asyncio.create_task(namespaces.run([self]))
        await settle()
        try:
            yield namespaces
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_namespace_without_refusals_is_not_checked() -> None:
    case = NamespacesFixture()
    async with case.running() as namespaces:
        await case.clock.advance(60)
        assert namespaces.why_not_ready("team") == ""
    assert case.authorizer.reviewed == []


async def test_two_negative_checks_make_a_namespace_not_ready_until_it_is_set_up() -> None:
    case = NamespacesFixture()
    async with case.running() as namespaces:
        namespaces.check("team")
        await case.clock.advance(5)
        assert case.changed == ["team"]
        message = namespaces.why_not_ready("team")
        assert message.startswith("namespace team is not set up for workflows")
        assert message.endswith(
            "--clusterrole=torpor-operator-namespace --serviceaccount=torpor-system:torpor-operator"
        )
        assert namespaces.why_not_ready("another") == ""
        case.authorizer.allowed.add("team")
        await case.clock.advance(5)
        assert (namespaces.why_not_ready("team"), case.changed) == ("", ["team", "team"])
        reviews = len(case.authorizer.reviewed)
        await case.clock.advance(60)
        assert len(case.authorizer.reviewed) == reviews


async def test_one_negative_check_changes_nothing() -> None:
    case = NamespacesFixture()
    async with case.running() as namespaces:
        namespaces.check("team")
        await case.clock.advance(2)
        case.authorizer.allowed.add("team")
        await case.clock.advance(10)
        assert case.changed == []


async def test_a_round_checks_a_few_namespaces_and_drops_those_without_workflows() -> None:
    case = NamespacesFixture(used={f"n{number}" for number in range(100)})
    async with case.running() as namespaces:
        for name in case.used:
            namespaces.check(name)
        await case.clock.advance(2)
        assert len(case.authorizer.reviewed) <= 20
        await case.clock.advance(60)
        assert all(namespaces.why_not_ready(name) for name in case.used)
        case.used.clear()
        await case.clock.advance(2)
        reviews = len(case.authorizer.reviewed)
        await case.clock.advance(60)
        assert len(case.authorizer.reviewed) == reviews


def test_a_workflow_in_an_unready_namespace_only_shows_the_cause() -> None:
    workflow = builders.workflow([builders.python("a")], {}, 1_700_000_000.0)
    workflow["metadata"]["finalizers"] = [constants.FINALIZER]
    message = "namespace team is not set up for workflows: run this"
    snapshot = builders.snapshot(
        workflow, [], [], known={}, settings=Settings(), now=1_700_000_000.0, not_ready=message
    )

    held = planner.plan(snapshot)

    assert held.status is not None
    assert not any(isinstance(action, CreateTaskRun) for action in held.actions)
    conditions = {
        condition.type: (condition.status, condition.reason, condition.message) for condition in held.status.conditions
    }
    assert conditions["Succeeded"] == ("Unknown", "NamespaceNotReady", message)
    assert conditions["Stalled"] == ("True", "NamespaceNotReady", message)
    assert held.events == ()

    workflow["status"] = held.status.to_json()
    again = planner.plan(
        builders.snapshot(workflow, [], [], known={}, settings=Settings(), now=1_700_000_100.0, not_ready=message)
    )
    assert again.status == held.status
    ready = planner.plan(builders.snapshot(workflow, [], [], known={}, settings=Settings(), now=1_700_000_200.0))
    assert any(isinstance(action, CreateTaskRun) for action in ready.actions)
    assert ready.status is not None
    assert {condition.type: condition.status for condition in ready.status.conditions}["Stalled"] == "False"


def test_an_unready_namespace_is_reported_without_reading_its_variables() -> None:
    workflow = builders.workflow([builders.python("a")], {"variablesFrom": "settings"}, 1_700_000_000.0)
    workflow["metadata"]["finalizers"] = [constants.FINALIZER]
    snapshot = builders.snapshot(workflow, [], [], known={}, settings=Settings(), now=1_700_000_000.0, not_ready="no")

    held = planner.plan(snapshot)

    assert not held.needs
    assert held.status is not None
    assert {condition.reason for condition in held.status.conditions if condition.type == "Succeeded"} == {
        "NamespaceNotReady"
    }


def test_the_operator_changes_only_finalizers_where_it_has_no_role() -> None:
    message = 'taskruns.torpor.dev "a" is forbidden: User "x" cannot patch resource "taskruns/status"'
    assert errors.Forbidden(message).lacks_role
    assert not errors.Forbidden("exceeded quota: torpor").lacks_role
    assert requires_role(ResumeRun())
    assert not requires_role(SetFinalizers(finalizers=()))
