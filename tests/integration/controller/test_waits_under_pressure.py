"""The API server is gone, hangs or returns errors while deferrals are due: none is lost, and no loop retries."""

import signal
import time
from collections.abc import Iterator

import pytest

from tests.integration.conftest import collection
from tests.integration.controller.recording_proxy import Call, tally
from tests.integration.controller.stage import ControllerFixture, ControllerProcess, Object

AWAY, FAULTY = 25.0, 5.0
# Two watches, a Lease, a write for each wait that is due, each ever more seldom, up to 10 s apart (the Lease 5 s). The
# client sends a GET twice where its connection was closed. A busy loop makes thousands.
MOST_WHILE_AWAY, MOST_WHILE_FAULTY, MOST_LISTS = 250, 120, 20
WAITS = 12


def due_in(seconds: float) -> list[Object]:
    """Waits that are due one after another from now until then, a second or two between them."""
    kwargs = [{"duration": f"{1 + number * seconds / WAITS:.1f}s"} for number in range(WAITS)]
    return [{"name": f"wait{n}", "trigger": {"class": "duration", "kwargs": kwarg}} for n, kwarg in enumerate(kwargs)]


@pytest.fixture
def triggerer(stage: ControllerFixture) -> Iterator[ControllerProcess]:
    """The one that serves the pool, alive before and after."""
    triggerer = next(process for process in stage.processes if process.identity == "triggerer")
    assert triggerer.alive
    yield triggerer
    assert triggerer.alive


def begin(stage: ControllerFixture, seconds: float) -> str:
    name = stage.submit(due_in(seconds))
    stage.until(lambda: len(stage.taskruns(name)) == WAITS, "all wait")
    stage.until(lambda: all(state(run) != "Scheduled" for run in stage.taskruns(name)), "all are deferred")
    return name


def begin_with_fault(stage: ControllerFixture, triggerer: ControllerProcess, status: int) -> str:
    """Waits of which some have not fired when the fault begins; on a busy machine all may have, so it tries again."""
    while True:
        name = begin(stage, FAULTY)
        triggerer.proxy.fault = status
        if fired(stage, name) <= WAITS - 3:
            return name
        triggerer.proxy.fault = None


def until_it_looks(stage: ControllerFixture) -> None:
    """A triggerer whose API server was away asks it again after half a minute at most."""
    wait = {"name": "probe", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
    assert stage.ends(stage.submit([wait]))["state"] == "Succeeded"


def assert_all_fired_once(stage: ControllerFixture, name: str) -> None:
    """As their TaskRuns say: the Workflow is the operator's affair, which may have lost its Lease meanwhile."""
    stage.until(lambda: fired(stage, name) == WAITS, "all have fired")
    assert {(state(run), run["status"]["attempt"]) for run in stage.taskruns(name)} == {("Succeeded", 1)}


def fired(stage: ControllerFixture, name: str) -> int:
    """How many have; none where the API server, which has just started, does not say."""
    answer = stage.server.request("GET", collection("taskruns", stage.namespace))
    items = answer.body["items"] if answer.status == 200 else []
    return sum(state(item) != "Deferred" for item in items if item["spec"]["workflow"]["name"] == name)


def state(run: Object) -> str:
    return str(run["status"]["state"])


def test_half_a_minute_without_an_api_server_loses_no_deferral(
    stage: ControllerFixture, triggerer: ControllerProcess
) -> None:
    name = begin(stage, AWAY / 2)
    began = time.monotonic()
    with stage.plane.down():
        time.sleep(AWAY)
    calls = triggerer.proxy.since(began)
    assert len(calls) <= MOST_WHILE_AWAY, tally(calls)
    assert_all_fired_once(stage, name)
    assert triggerer.process.poll() is None
    assert "Traceback" not in triggerer.text()


@pytest.mark.parametrize("status", [410, 429, 500])
def test_a_fire_is_written_once_the_api_server_no_longer_returns_errors(
    stage: ControllerFixture, triggerer: ControllerProcess, status: int
) -> None:
    until_it_looks(stage)
    name = begin_with_fault(stage, triggerer, status)
    began = time.monotonic()
    time.sleep(FAULTY)
    calls = triggerer.proxy.since(began)
    assert len(calls) <= MOST_WHILE_FAULTY, tally(calls)
    stage.until(
        lambda: any(call.writes and "/status" in call.path for call in triggerer.proxy.since(began)), "a fire is tried"
    )
    triggerer.proxy.fault = None
    assert_all_fired_once(stage, name)


def test_a_triggerer_lists_again_after_a_compaction_and_fires_due_deferrals(
    stage: ControllerFixture, triggerer: ControllerProcess
) -> None:
    """It wakes to a watch that is gone and a version that the server no longer has."""
    name = begin(stage, 6)
    triggerer.process.send_signal(signal.SIGSTOP)
    try:
        with stage.plane.down():
            time.sleep(6)
        triggerer.proxy.fault = 410
    finally:
        triggerer.process.send_signal(signal.SIGCONT)
    began = time.monotonic()
    stage.until(lambda: bool(lists(triggerer, began)), "it lists again")
    triggerer.proxy.fault = None
    assert_all_fired_once(stage, name)
    assert len(lists(triggerer, began)) <= MOST_LISTS, tally(lists(triggerer, began))


def lists(triggerer: ControllerProcess, since: float) -> list[Call]:
    """Its lists of TaskRuns."""
    return [call for call in triggerer.proxy.since(since) if call.path.endswith("/taskruns") and not call.watch]
