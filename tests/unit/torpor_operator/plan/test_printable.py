"""What users and servers say, on its way to the status of a Workflow, its Events and its TaskRuns."""

import json
from collections.abc import AsyncIterator

import pytest
from torpor_api.client.resources import EVENTS, TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault

CLEAR = "\x1b[2J\x9b0m\u202e"


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


def raw(value: object) -> bool:
    return any(character in json.dumps(value, ensure_ascii=False) for character in ("\\u001b", "\x9b", "\u202e"))


def told(rig: ControllerHarness) -> list[object]:
    """All that the operator wrote for people."""
    statuses = [rig.workflow("run")["status"], *(run["status"] for run in rig.fake.all(TASKRUNS))]
    return [*statuses, *(event["note"] for event in rig.fake.all(EVENTS))]


async def test_a_refusal_of_the_api_server_is_printable(rig: ControllerHarness) -> None:
    fault = Fault(status=422, causes=True, reason="Invalid", method="POST", path="/pods", message=f"no {CLEAR} such")
    rig.fake.inject(fault)
    rig.create("run", python("a"))
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert "no \\x1b[2J\\x9b0m\\u202e such" in str(rig.taskrun("run", "a")["status"]["message"])
    assert not raw(told(rig))


async def test_what_an_expression_says_is_printable(rig: ControllerHarness) -> None:
    rig.create("run", python("a", args={"x": f"${{params['{CLEAR}']}}"}), params={"y": 1})
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert not raw(told(rig))


async def test_a_display_name_is_printable(rig: ControllerHarness) -> None:
    rig.create("run", python("a", displayName="${params.name}"), params={"name": f"load\n{CLEAR}"})
    await rig.advance(1)
    assert rig.taskrun("run", "a")["spec"]["displayName"] == "load\\n\\x1b[2J\\x9b0m\\u202e"


async def test_what_another_hand_wrote_on_a_taskrun_is_printable_on_its_workflow(rig: ControllerHarness) -> None:
    rig.create("run", python("a"))
    await rig.clock.advance(0.2)
    name = rig.taskrun("run", "a")["metadata"]["name"]
    ended = {"state": "Failed", "reason": "Error", "message": CLEAR, "completionTime": "2026-01-01T00:00:00Z"}
    rig.fake.edit(TASKRUNS, NAMESPACE, name, {"status": ended})
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert not raw(rig.fake.get(WORKFLOWS, NAMESPACE, "run"))
    assert not raw([event["note"] for event in rig.fake.all(EVENTS)])
