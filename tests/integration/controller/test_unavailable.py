"""Requests are bounded while the API server is unavailable or returns errors, and no work is lost."""

import time
from collections.abc import Mapping, Sequence

import pytest

from tests.integration.controller.recording_proxy import Call, tally
from tests.integration.controller.stage import ControllerFixture, ControllerProcess, python
from tests.integration.controller.test_leader import UNDER_WAY, assert_right, until_under_way

FROZEN, FAULTY = 20.0, 3.5
# Reflectors and reconcilers wait ever longer between their tries, from 0.1 s to 30 s. Each of seven watches is tried
# some six times, and more often where a busy machine makes the fault last longer. A busy loop makes thousands.
MOST_WHILE_FROZEN, MOST_WHILE_DOWN, MOST_WHILE_FAULTY = 60, 200, 120


def _assert_bounded(processes: Sequence[ControllerProcess], since: float, most: int) -> None:
    _assert_few({process.identity: process.proxy.since(since) for process in processes}, most)


def _assert_few(called: Mapping[str, Sequence[Call]], most: int) -> None:
    for identity, calls in called.items():
        assert len(calls) <= most, (identity, tally(calls))


def test_an_api_server_that_hangs_delays_a_run_and_nothing_else(stage: ControllerFixture) -> None:
    name = stage.submit(UNDER_WAY)
    until_under_way(stage, name)
    processes = list(stage.processes)
    began = time.monotonic()
    with stage.plane.frozen():
        time.sleep(FROZEN)
    _assert_bounded(processes, began, MOST_WHILE_FROZEN)
    assert len(stage.controllers()) >= 1, "the standby waits for as long as it takes"
    assert_right(stage, name)


def test_nothing_is_lost_when_the_api_server_is_killed_and_restarted(stage: ControllerFixture) -> None:
    name = stage.submit(UNDER_WAY)
    until_under_way(stage, name)
    processes = list(stage.processes)
    for process in processes:
        process.proxy.unserved.clear()
    with stage.plane.down():
        time.sleep(2)
    # Its work goes on before the API server says of itself that it is ready: only what was asked in vain is counted.
    _assert_few({process.identity: process.proxy.unserved for process in processes}, MOST_WHILE_DOWN)
    assert_right(stage, name)


@pytest.mark.parametrize("status", [410, 429, 500])
def test_requests_are_few_during_api_server_errors_and_the_run_ends(stage: ControllerFixture, status: int) -> None:
    slow = python("first", "loaded", args={"item": 1, "seconds": 2})
    name = stage.submit([slow, python("next", "echo", after=["first"])])
    stage.until(lambda: bool(stage.notes(name)), "it runs")
    processes = [*stage.controllers(), *(process for process in stage.processes if process.identity == "triggerer")]
    began = time.monotonic()
    for process in processes:
        process.proxy.fault = status
    time.sleep(FAULTY)
    for process in processes:
        process.proxy.fault = None
    _assert_bounded(processes, began, MOST_WHILE_FAULTY)
    assert stage.ends(name)["state"] == "Succeeded"
    stage.assert_none_twice(name)
