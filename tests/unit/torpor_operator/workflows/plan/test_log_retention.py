"""The deletion of an ended pod waits until the archive has its log, for a limited time."""

from typing import Any

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_operator.model.actions import ConfirmLogs
from torpor_operator.workflows.plan.pod_retention import GRACE
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import container, python
from tests.support.plan_fixture import PlanFixture

ENDPOINT = ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


def world(*tasks: dict[str, Any], **spec: Any) -> PlanFixture:
    fixture = PlanFixture(*(tasks or (python("a"),)), **({"podsTTL": "0s"} | spec))
    fixture.api.archive = ENDPOINT
    return fixture.settle()


def ended(fixture: PlanFixture, code: int = 0) -> PlanFixture:
    """The container of the only task ends."""
    state = {"exitCode": code, "reason": "Completed", "finishedAt": times.rfc3339(fixture.now)}
    fixture.kubelet(
        "a",
        {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{"name": "main", "state": {"terminated": state}}],
        },
    )
    return fixture.settle()


def uids(fixture: PlanFixture) -> frozenset[str]:
    return frozenset(body["metadata"]["uid"] for body in fixture.pods.values())


def test_an_ended_pod_stays_until_its_log_is_settled() -> None:
    fixture = world().succeed("a")
    assert len(fixture.pods) == 1
    assert fixture.plan().again_at == fixture.now + 1
    fixture.api.settled_logs = uids(fixture)
    assert fixture.advance(1).pods == {}


def test_an_ended_pod_waits_thirty_seconds_at_most() -> None:
    fixture = world().succeed("a")
    assert fixture.advance(GRACE - 0.1).pods
    assert fixture.advance(0.1).pods == {}


def test_without_an_archive_nothing_waits() -> None:
    fixture = PlanFixture(python("a"), podsTTL="0s").settle().succeed("a")
    assert fixture.pods == {}
    assert not fixture.api.confirmed


def test_a_pod_that_is_kept_for_longer_costs_no_question() -> None:
    fixture = world(podsTTL="1h").succeed("a")
    assert fixture.advance(3600).pods == {}
    assert not [need for need in fixture.api.confirmed if isinstance(need, ConfirmLogs)]


@pytest.mark.parametrize(
    ("logs", "code", "waits"),
    [("all", 0, True), ("failed", 0, False), ("failed", 3, True), ("none", 3, False)],
)
def test_a_pod_waits_only_for_a_log_that_is_kept(logs: str, code: int, waits: bool) -> None:
    fixture = ended(world(container("a"), logs=logs), code)
    assert bool(fixture.pods) is waits


def test_settled_pods_go_while_others_wait() -> None:
    fixture = world(python("a", expand=[{"name": "n", "over": [1, 2]}]))
    for index in range(2):
        fixture.succeed("a", None, index)
    assert len(fixture.pods) == 2
    fixture.api.settled_logs = frozenset(sorted(uids(fixture))[:1])
    assert len(fixture.advance(1).pods) == 1


def test_a_resume_and_a_retry_do_not_wait() -> None:
    fixture = world(python("a", retries={"limit": 1, "delay": "0s"})).defer("a")
    assert len(fixture.pods) == 1
    fixture.fire("a")
    assert len(fixture.live_pods("a")) == 1
    fixture.fail("a")
    fixture.settle()
    assert fixture.state("a") is State.SCHEDULED
    assert len(fixture.live_pods("a")) == 1
    assert len(fixture.pods) == 3


def test_a_run_stays_until_the_logs_of_its_pods_are_settled() -> None:
    fixture = world(podsTTL="1h", ttlAfterFinished="10s").succeed("a")
    assert fixture.advance(10).workflow is not None
    assert not fixture.api.deleted
    fixture.api.settled_logs = uids(fixture)
    fixture.advance(1)
    assert fixture.api.deleted


def test_a_run_is_deleted_after_thirty_seconds_at_most() -> None:
    fixture = world(podsTTL="1h", ttlAfterFinished="10s").succeed("a")
    fixture.advance(GRACE - 1)
    assert not fixture.api.deleted
    fixture.advance(1)
    assert fixture.api.deleted
