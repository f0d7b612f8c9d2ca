"""The second controller takes over when the first is killed, or is suspended for longer than its Lease."""

import json
import signal
import time

from tests.integration.controller.recording_proxy import tally
from tests.integration.controller.stage import ControllerFixture, python, shell
from tests.integration.controller.test_good_run import ALL_KINDS
from tests.support.machine import slowness

LEASE = 15.0

# What is due while nobody leads: a resume, a retry, a container to claim, a next task.
UNDER_WAY = (
    *ALL_KINDS,
    python("slow", "loaded", args={"item": 7, "seconds": 4}),
    python("after", "echo", args={"slow": "${tasks.slow.result}"}),
    python("fails", "failed", args={"message": "on purpose"}, retries={"limit": 1, "delay": "3s"}),
    shell("late", "sleep 3; printf 1 > /dev/termination-log"),
)

# Created some at a time, and enough of them that a leader is stopped among them, with the next in its hand.
WIDTH = 450
WIDE = {
    "name": "wide",
    "trigger": {"class": "duration", "kwargs": {"duration": "1s"}},
    "expand": [{"name": "number", "over": list(range(WIDTH))}],
}


def until_under_way(stage: ControllerFixture, name: str) -> None:
    stage.until(lambda: len(stage.notes(name)) >= 4, f"{name} is under way")


def assert_right(stage: ControllerFixture, name: str) -> None:
    status = stage.ends(name)
    states = {task["name"]: task["state"] for task in status["tasks"]}
    assert states.pop("fails") == "Failed"
    assert set(states.values()) == {"Succeeded"}, json.dumps(status["tasks"])
    stage.assert_none_twice(name)
    assert len(stage.notes(name)) == 14


def test_a_killed_leader_is_replaced_in_time_and_nothing_runs_twice(stage: ControllerFixture) -> None:
    leader = stage.leader()
    name = stage.submit(UNDER_WAY)
    until_under_way(stage, name)
    leader.end()
    killed = time.monotonic()
    fresh = stage.submit([python("first", "listed", args={"count": 1})])
    stage.until(lambda: bool(stage.taskruns(fresh)), "the next leader has begun a Workflow")
    assert time.monotonic() - killed <= LEASE + 5 * slowness()
    assert stage.leader() is not leader
    assert stage.ends(fresh)["state"] == "Succeeded"
    assert_right(stage, name)


def test_a_leader_suspended_beyond_its_lease_writes_nothing(stage: ControllerFixture) -> None:
    leader = stage.leader()
    name = stage.submit(UNDER_WAY)
    until_under_way(stage, name)
    wide = stage.submit([WIDE])
    stage.until(lambda: len(stage.taskruns(wide)) > 5, "it is in the middle of creating them")
    leader.process.send_signal(signal.SIGSTOP)
    assert len(stage.taskruns(wide)) < WIDTH
    stage.until(lambda: stage.holder() != leader.identity, "another leads")
    assert_right(stage, name)
    assert stage.ends(wide)["progress"] == f"{WIDTH}/{WIDTH}"
    woken = time.monotonic()
    leader.process.send_signal(signal.SIGCONT)
    assert leader.process.wait(timeout=180) != 0, "who has lost the Lease does not say that all is well"
    # A creation of which half was sent when it was stopped is sent whole, and refused: its name is derived, and taken.
    changes = [call for call in leader.proxy.granted if call.moment >= woken and not call.about_leases]
    assert not changes, tally(changes)
    # It notices first that it has lost the Lease, or that its event loop has not turned for half a minute.
    assert "LeaseLost" in leader.text() or "Timeout (" in leader.text()
    assert stage.leader() is not leader
