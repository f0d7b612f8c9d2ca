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
    made = PlanFixture(*(tasks or (python("a"),)), **({"podsTTL": "0s"} | spec))
    made.api.archive = ENDPOINT
    return made.settle()


def ended(made: PlanFixture, code: int = 0) -> PlanFixture:
    """The container of the only task ends."""
    state = {"exitCode": code, "reason": "Completed", "finishedAt": times.rfc3339(made.now)}
    made.kubelet(
        "a",
        {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{"name": "main", "state": {"terminated": state}}],
        },
    )
    return made.settle()


def uids(made: PlanFixture) -> frozenset[str]:
    return frozenset(body["metadata"]["uid"] for body in made.pods.values())


def test_an_ended_pod_stays_until_its_log_is_settled() -> None:
    made = world().succeed("a")
    assert len(made.pods) == 1
    assert made.plan().again_at == made.now + 1
    made.api.settled_logs = uids(made)
    assert made.advance(1).pods == {}


def test_an_ended_pod_waits_thirty_seconds_at_most() -> None:
    made = world().succeed("a")
    assert made.advance(GRACE - 0.1).pods
    assert made.advance(0.1).pods == {}


def test_without_an_archive_nothing_waits() -> None:
    made = PlanFixture(python("a"), podsTTL="0s").settle().succeed("a")
    assert made.pods == {}
    assert not made.api.confirmed


def test_a_pod_that_is_kept_for_longer_costs_no_question() -> None:
    made = world(podsTTL="1h").succeed("a")
    assert made.advance(3600).pods == {}
    assert not [need for need in made.api.confirmed if isinstance(need, ConfirmLogs)]


@pytest.mark.parametrize(
    ("logs", "code", "waits"),
    [("all", 0, True), ("failed", 0, False), ("failed", 3, True), ("none", 3, False)],
)
def test_a_pod_waits_only_for_a_log_that_is_kept(logs: str, code: int, waits: bool) -> None:
    made = ended(world(container("a"), logs=logs), code)
    assert bool(made.pods) is waits


def test_settled_pods_go_while_others_wait() -> None:
    made = world(python("a", expand=[{"name": "n", "over": [1, 2]}]))
    for index in range(2):
        made.succeed("a", None, index)
    assert len(made.pods) == 2
    made.api.settled_logs = frozenset(sorted(uids(made))[:1])
    assert len(made.advance(1).pods) == 1


def test_a_resume_and_a_retry_do_not_wait() -> None:
    made = world(python("a", retries={"limit": 1, "delay": "0s"})).defer("a")
    assert len(made.pods) == 1
    made.fire("a")
    assert len(made.live_pods("a")) == 1
    made.fail("a")
    made.settle()
    assert made.state("a") is State.SCHEDULED
    assert len(made.live_pods("a")) == 1
    assert len(made.pods) == 3


def test_a_run_stays_until_the_logs_of_its_pods_are_settled() -> None:
    made = world(podsTTL="1h", ttlAfterFinished="10s").succeed("a")
    assert made.advance(10).workflow is not None
    assert not made.api.deleted
    made.api.settled_logs = uids(made)
    made.advance(1)
    assert made.api.deleted


def test_a_run_is_deleted_after_thirty_seconds_at_most() -> None:
    made = world(podsTTL="1h", ttlAfterFinished="10s").succeed("a")
    made.advance(GRACE - 1)
    assert not made.api.deleted
    made.advance(1)
    assert made.api.deleted
