"""A pod that the API server does not take: whose mistake it is, and whether it is tried again."""

from collections.abc import AsyncIterator

import pytest
from torpor_operator.settings import Settings

from tests.support.builders import python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as made:
        yield made


@pytest.mark.parametrize(("status", "reason"), [(400, "BadRequest"), (403, "Forbidden")])
async def test_a_pod_that_can_never_be_made_fails_its_task_with_the_servers_words(
    rig: ControllerHarness, status: int, reason: str
) -> None:
    said = "quantities must match the regular expression"
    rig.fake.inject(Fault(status=status, reason=reason, method="POST", path="/pods", message=said))
    rig.create("run", python("a", retries={"limit": 3}))
    await rig.advance(3)
    found = rig.taskrun("run", "a")["status"]
    assert (found["state"], found["reason"]) == ("Failed", "LaunchFailed")
    assert said in found["message"]


async def test_a_server_that_has_not_read_the_roles_yet_is_asked_again(rig: ControllerHarness) -> None:
    said = 'pods is forbidden: User "torpor" cannot create resource "pods" in API group "" in the namespace "ns"'
    rig.fake.inject(Fault(status=403, reason="Forbidden", method="POST", path="/pods", message=said, times=2))
    rig.create("run", python("a"))
    await rig.advance(10)
    assert rig.state("run") == "Succeeded"


async def test_a_token_that_the_server_does_not_know_at_the_moment_is_no_failure_of_the_task(
    rig: ControllerHarness,
) -> None:
    rig.fake.inject(Fault(status=401, reason="Unauthorized", method="POST", path="/pods", times=2))
    rig.create("run", python("a"))
    await rig.advance(10)
    assert rig.state("run") == "Succeeded"


async def test_a_taskrun_that_the_quota_refuses_is_told_on_the_workflow_until_there_is_room(
    rig: ControllerHarness,
) -> None:
    said = 'taskruns.torpor.dev "x" is forbidden: exceeded quota: runs, requested: count/taskruns.torpor.dev=1'
    rig.fake.inject(Fault(status=403, reason="Forbidden", method="POST", path="/taskruns", message=said, times=7))
    rig.create("run", python("a"))
    await rig.advance(3)
    condition = next(one for one in rig.workflow("run")["status"]["conditions"] if one["type"] == "Succeeded")
    assert (condition["status"], condition["reason"]) == ("Unknown", "QuotaExceeded")
    assert "exceeded quota: runs" in condition["message"]
    await rig.advance(60)
    assert rig.state("run") == "Succeeded"
