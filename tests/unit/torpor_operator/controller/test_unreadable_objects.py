"""An unreadable Workflow is reported once, and keeps the rest of its status."""

import logging
from typing import Any

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.decoding import UNREADABLE
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.controller_harness import build_cache
from tests.support.fake_api import FakeApi, VirtualClock

_SUCCEEDED = {"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "", "lastTransitionTime": ""}
_STALLED = "The operator cannot read this Workflow and ignores it: too deep"


class UnreadableWorkflow:
    def __init__(self, **status: Any) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock)
        api = Api(self.fake, self.clock)
        self.reporter = UnreadableReporter(api, WriteLimits.build(api, Settings()))
        body: dict[str, Any] = {"metadata": {"name": "w", "namespace": "ns"}, "spec": {}}
        self.fake.put(WORKFLOWS, body | ({"status": status} if status else {}))

    @property
    def body(self) -> dict[str, Any]:
        body = self.fake.get(WORKFLOWS, "ns", "w")
        assert body is not None
        return body


async def test_an_unreadable_workflow_gets_a_condition_and_an_event() -> None:
    cluster = UnreadableWorkflow()
    await cluster.reporter.report(cluster.body, "too deep")
    (condition,) = cluster.body["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Stalled", "True", "WorkflowInvalid")
    assert condition["message"] == _STALLED


async def test_a_report_keeps_other_conditions_and_fields() -> None:
    cluster = UnreadableWorkflow(state="Running", conditions=[_SUCCEEDED, {"type": "Stalled", "status": "False"}])
    await cluster.reporter.report(cluster.body, "too deep")
    status = cluster.body["status"]
    assert status["state"] == "Running"
    assert [each["type"] for each in status["conditions"]] == ["Succeeded", "Stalled"]


async def test_the_same_report_is_written_once() -> None:
    cluster = UnreadableWorkflow()
    await cluster.reporter.report(cluster.body, "too deep")
    version = cluster.body["metadata"]["resourceVersion"]
    await cluster.reporter.report(cluster.body, "too deep")
    assert cluster.body["metadata"]["resourceVersion"] == version


@pytest.mark.attack
async def test_a_deleted_workflow_that_is_unreadable_is_let_go() -> None:
    cluster = UnreadableWorkflow()
    cluster.fake.edit(WORKFLOWS, "ns", "w", {"metadata": {"finalizers": ["a/b", constants.FINALIZER]}})
    await cluster.reporter.report(cluster.body, "too deep")
    assert constants.FINALIZER in cluster.body["metadata"]["finalizers"]
    cluster.fake.edit(WORKFLOWS, "ns", "w", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    await cluster.reporter.report(cluster.body, "too deep")
    assert cluster.body["metadata"]["finalizers"] == ["a/b"]


async def test_a_conflict_leaves_the_workflow_to_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    cluster = UnreadableWorkflow()
    stale = cluster.body
    cluster.fake.edit(WORKFLOWS, "ns", "w", {"metadata": {"labels": {"a": "b"}}})
    with caplog.at_level(logging.WARNING):
        await cluster.reporter.report(stale, "too deep")
    assert "status" not in cluster.body
    assert not caplog.records


def test_the_cache_keeps_the_last_readable_version() -> None:
    cluster = UnreadableWorkflow()
    cache = build_cache(Api(cluster.fake, cluster.clock))
    body = cluster.body | {UNREADABLE: "spec: nested more than 100 levels deep"}
    assert cache.store_workflow(body) == "spec: nested more than 100 levels deep"
    assert not cache.workflows
