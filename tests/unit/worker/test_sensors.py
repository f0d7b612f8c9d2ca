"""Sensors in their pods: the three ways to wait, and who decides between them."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from torpor import BaseSensor, Context, PokeResult
from torpor_wire import constants, times

from tests.unit.worker import conftest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

SENSOR = """
from torpor import BaseSensor, PokeResult, TaskFailed
looks = []
there = 3
class Key(BaseSensor):
    def __init__(self, path, **kwargs):
        super().__init__(**kwargs)
        self.path = path
    def poke(self, context):
        looks.append([context.segment, self.path])
        return PokeResult(len(looks) >= there, len(looks))
class AsyncKey(Key):
    async def poke(self, context):
        return super().poke(context)
class OwnWay(AsyncKey):
    runs_in_triggerer = False
class Patient(Key):
    def timed_out(self, context): return ["gave up", context.segment]
class PatientAsync(AsyncKey):
    async def timed_out(self, context): return ["gave up", context.segment]
"""


@pytest.fixture
def set_deferring(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set whether the sensors of the pod are to defer."""
    return lambda what: monkeypatch.setenv(constants.ENV_DEFERRABLE, what)


def looks(pod: TaskPod) -> list[Any]:
    looks: list[Any] = conftest.module_of(pod).looks
    return looks


@pytest.mark.parametrize("name", ["Key", "AsyncKey"])
def test_a_sensor_that_is_not_to_defer_pokes_in_its_pod(task: Callable[..., TaskPod], name: str) -> None:
    pod = task(SENSOR, name=name, path="a", poke_interval=0.01, deferrable=False)

    assert pod.run() == 0
    assert pod.status["result"] == "3"
    assert looks(pod) == [[0, "a"]] * 3


@pytest.mark.parametrize("name", ["Key", "AsyncKey", "OwnWay"])
def test_a_condition_that_holds_at_the_first_poke_does_not_wait(task: Callable[..., TaskPod], name: str) -> None:
    pod = task(SENSOR + "there = 1", name=name, path="a")

    assert pod.run() == 0
    assert pod.status["result"] == "1"


@pytest.mark.parametrize("name", ["Key", "OwnWay"])
def test_a_sensor_with_a_blocking_poke_has_a_pod_for_each_poke_only(task: Callable[..., TaskPod], name: str) -> None:
    pod = task(SENSOR, name=name, path="a", poke_interval="5m")
    for segment in range(2):
        before = time.time()
        assert pod.run() == 0
        assert pod.status["trigger"]["class"] == "time"
        assert pod.status["trigger"]["waitsFor"] == f"{name} a"
        at = times.epoch(json.loads(pod.status["trigger"]["kwargs"])["at"])
        assert before + 300 - 0.01 <= at <= time.time() + 300
        assert "deadline" not in pod.status
        pod.fire(pod.status["trigger"]["kwargs"])
        assert pod.status["segment"] == segment + 1

    assert pod.run() == 0
    assert pod.status["result"] == "3"
    assert looks(pod) == [[0, "a"], [1, "a"], [2, "a"]]


def test_a_sensor_with_an_async_poke_waits_as_its_own_trigger(task: Callable[..., TaskPod]) -> None:
    pod = task(SENSOR, name="AsyncKey", path="a", timeout="6h")
    assert pod.run() == 0

    waiting = pod.status["trigger"]
    assert waiting["class"] == f"{conftest.module_of(pod).__name__}.AsyncKey"
    assert json.loads(waiting["kwargs"]) == {"path": "a", "timeout": "6h"}
    assert pod.at("deadline") == pytest.approx(pod.cluster.clock + 6 * 3600, abs=5)
    assert "onTimeout" not in pod.status["next"]
    pod.fire({"size": 7})

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == {"size": 7}
    assert looks(pod) == [[0, "a"]]


@pytest.mark.parametrize(
    "decision",
    [
        ("true", None, True),
        ("false", None, False),
        ("unserved", None, False),
        ("true", False, False),
        ("false", True, True),
        ("unserved", True, False),
    ],
)
@pytest.mark.parametrize("name", ["Key", "AsyncKey"])
def test_who_decides_whether_a_sensor_defers(
    task: Callable[..., TaskPod],
    set_deferring: Callable[[str], None],
    name: str,
    decision: tuple[str, bool | None, bool],
) -> None:
    says, deferrable, defers = decision
    set_deferring(says)
    source = SENSOR.replace("super().__init__(**kwargs)", "super().__init__(**kwargs); self.poke_interval = 0.01")
    pod = task(source, name=name, path="a", deferrable=deferrable)
    pod.run()

    assert pod.status["state"] == ("Deferred" if defers else "Succeeded")


@pytest.mark.parametrize(
    ("name", "interval", "deferrable", "gives_back"),
    [
        ("Key", 9.9, None, False),
        ("Key", 10, None, True),
        ("Key", 9.9, True, True),
        ("AsyncKey", 9.9, None, True),
        ("OwnWay", 9.9, None, False),
    ],
)
def test_no_pod_is_made_every_few_seconds_unless_that_is_asked_for(
    module: Callable[[str], str], name: str, interval: float, deferrable: bool | None, gives_back: bool
) -> None:
    sensor = getattr(__import__(module(SENSOR)), name)(path="a", poke_interval=interval, deferrable=deferrable)

    assert sensor.deferrable is gives_back


@pytest.mark.parametrize("name", ["Key", "AsyncKey"])
def test_a_sensor_that_pokes_in_its_pod_is_not_retried_when_its_time_is_over(
    task: Callable[..., TaskPod], name: str
) -> None:
    pod = task(SENSOR, name=name, path="a", timeout=0, deferrable=False, spec={"retries": {"limit": 1}})

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    assert pod.status["message"] == f"{name} timed out after 0s"
    assert len(looks(pod)) == 1


@pytest.mark.parametrize(("name", "final"), [("AsyncKey", True), ("PatientAsync", None)])
def test_the_end_of_a_sensors_wait_in_the_triggerer_is_stored_as_final(
    task: Callable[..., TaskPod], name: str, final: bool | None
) -> None:
    pod = task(SENSOR, name=name, path="a", timeout="1h", spec={"retries": {"limit": 1}})
    pod.run()

    assert pod.status["next"].get("timeoutIsFinal") is final


@pytest.mark.parametrize("name", ["Patient", "PatientAsync"])
def test_a_class_may_say_what_follows_when_the_time_is_over(task: Callable[..., TaskPod], name: str) -> None:
    pod = task(SENSOR, name=name, path="a", timeout=0, deferrable=False)

    assert pod.run() == 0
    assert pod.status["result"] == '["gave up",0]'


def test_the_time_of_a_sensor_counts_over_all_its_pods(task: Callable[..., TaskPod]) -> None:
    pod = task(SENSOR + "there = 100", name="Patient", path="a", poke_interval="5m", timeout="7m")
    before = time.time()
    pod.run()
    kwargs = json.loads(pod.status["next"]["kwargs"])
    assert before + 420 <= kwargs["until"] <= time.time() + 420
    until = time.time() + 100
    pod.status["next"]["kwargs"] = json.dumps({"until": until})
    pod.fire(None)
    pod.run()
    at = times.epoch(json.loads(pod.status["trigger"]["kwargs"])["at"])
    assert at == pytest.approx(until, abs=0.1)
    pod.status["next"]["kwargs"] = json.dumps({"until": time.time() - 1})
    pod.fire(None)

    assert pod.run() == 0
    assert pod.status["result"] == '["gave up",2]'


def test_a_class_that_sets_on_timeout_resumes_there_after_the_wait(
    task: Callable[..., TaskPod],
) -> None:
    pod = task(SENSOR, name="PatientAsync", path="a", timeout="1h")
    pod.run()
    assert pod.status["next"]["onTimeout"] == "timed_out"
    pod.time_out()

    assert pod.run() == 0
    assert pod.status["result"] == '["gave up",1]'


def test_a_sensor_may_have_a_wait_before_its_first_poke(task: Callable[..., TaskPod]) -> None:
    pod = task(SENSOR + "there = 1", name="Key", path="a", spec={"trigger": {"class": "cron"}})
    pod.defer_first()
    pod.fire("2030-01-01T00:00:00Z")

    assert pod.run() == 0
    assert looks(pod) == [[1, "a"]]


def test_a_poke_that_raises_fails_the_task_at_once(task: Callable[..., TaskPod]) -> None:
    pod = task(SENSOR + "class Broken(Key):\n    def poke(self, context): return 1 / 0", name="Broken", path="a")

    assert pod.run() == 1
    assert pod.status["message"].startswith("ZeroDivisionError")


def test_a_class_without_a_poke_fails_with_a_message(task: Callable[..., TaskPod]) -> None:
    pod = task("from torpor import BaseSensor\nclass Empty(BaseSensor): pass", name="Empty")

    assert pod.run() == 1
    assert "Empty has no poke(context)" in pod.status["message"]


class AirflowPokeReturn:
    """What a look returns in Airflow."""

    is_done = True
    xcom_value = "value"


@pytest.mark.parametrize(
    ("returned", "value"),
    [(True, None), (1, None), (PokeResult(done=True, value=[1]), [1]), (AirflowPokeReturn(), "value")],
)
def test_a_poke_reports_success_in_several_ways(context: Context, returned: object, value: object) -> None:
    class Look(BaseSensor):
        def poke(self, context: Context) -> object:
            return returned

    assert Look(deferrable=False).execute(context) == value


def test_times_are_given_as_anywhere_else() -> None:
    sensor = BaseSensor(poke_interval=timedelta(minutes=2), timeout="1h30m", task_id="t")

    assert (sensor.poke_interval, sensor.timeout, sensor.task_id) == (120.0, 5400.0, "t")
    assert BaseSensor(timeout=None).timeout is None


@pytest.mark.parametrize("interval", [-1, "soon", True, float("nan")])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="poke_interval"):
        BaseSensor(poke_interval=interval)
