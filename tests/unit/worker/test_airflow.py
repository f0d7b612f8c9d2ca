"""Operators and triggers as they are written for Airflow: only their imports change.

The operators are those of its page on deferring and of the deck; the triggers take what Airflow's of the same names
take, and serialize as they do.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from torpor import testing
from torpor_triggerer.model.deferred_taskrun import parse
from torpor_triggerer.usercode import validation
from torpor_triggerer.usercode.registry import Registry

from tests.support.fake_services import services
from tests.unit.worker.conftest import module_of

if TYPE_CHECKING:
    from tests.unit.worker.conftest import TaskPod, TaskRunApi

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
TEMPORAL = "airflow.providers.standard.triggers.temporal.DateTimeTrigger"


class AirflowTrigger:
    """Airflow's contract: `bind` and all else that is Torpor's are missing."""

    async def run(self) -> AsyncIterator[Any]:
        yield None


class DateTimeTrigger(AirflowTrigger):
    """`moment` is an aware datetime and nothing else."""

    def __init__(self, moment: datetime, *, end_from_trigger: bool = False) -> None:
        if not isinstance(moment, datetime):
            raise TypeError(f"Expected datetime.datetime type for moment. Got {type(moment)}")
        if moment.tzinfo is None:
            raise ValueError("You cannot pass naive datetimes")
        self.moment = moment
        self.end_from_trigger = end_from_trigger

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return TEMPORAL, {"moment": self.moment, "end_from_trigger": self.end_from_trigger}


class TimeDeltaTrigger(DateTimeTrigger):
    """Serializes as the moment it comes to."""

    def __init__(self, delta: timedelta) -> None:
        super().__init__(moment=MOMENT + delta)


class FileTrigger(AirflowTrigger):
    """All that it takes is JSON."""

    def __init__(self, filepath: str, *, recursive: bool = False, poke_interval: float = 5.0) -> None:
        self.given = {"filepath": filepath, "recursive": recursive, "poke_interval": poke_interval}

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "airflow.providers.standard.triggers.file.FileTrigger", self.given


class WindowTrigger(AirflowTrigger):
    """Moments and durations anywhere within what it takes."""

    def __init__(self, dates: list[datetime], every: timedelta, extra: dict[str, Any]) -> None:
        self.given = {"dates": dates, "every": every, "extra": extra}

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "pkg.WindowTrigger", self.given


GIVEN: dict[str, Any] = {
    "date_time": DateTimeTrigger(MOMENT.astimezone(timezone(timedelta(hours=2)))),
    "time_delta": TimeDeltaTrigger(timedelta(hours=1)),
    "file": FileTrigger("/data/_SUCCESS", poke_interval=2.0),
    "window": WindowTrigger([MOMENT], timedelta(minutes=5), {"__type": "x", "__var": MOMENT, "none": None}),
    "lookalike": WindowTrigger([], timedelta(0), {"__type": "datetime", "__var": "written by a person"}),
}
CLASSES: dict[str, Any] = {
    TEMPORAL: DateTimeTrigger,
    FileTrigger("").serialize()[0]: FileTrigger,
    "pkg.WindowTrigger": WindowTrigger,
}


@pytest.mark.parametrize("name", GIVEN)
async def test_a_trigger_of_airflows_is_made_again_in_the_triggerer_as_it_was(
    task: Callable[..., TaskPod], cluster: TaskRunApi, name: str
) -> None:
    pod = task(
        f"""
from torpor import defer
from {__name__} import GIVEN
def load(): return defer(GIVEN[{name!r}], then=end)
def end(event): pass
"""
    )
    assert pod.run() == 0

    cluster.taskruns[pod.name]["metadata"] |= {"namespace": "default"}
    wait = parse(cluster.taskruns[pod.name])
    call = validation.read(wait)
    assert isinstance(call, validation.TriggerInvocation)
    admitted = validation.admit(wait, call, Registry(CLASSES), services())
    assert admitted.problem is None
    assert admitted.trigger.serialize() == GIVEN[name].serialize()


def test_kubectl_shows_the_time_that_is_waited_for(task: Callable[..., TaskPod]) -> None:
    pod = task(
        f"from torpor import defer\nfrom {__name__} import GIVEN\n"
        "def load(): return defer(GIVEN['date_time'], then=end)\ndef end(event): pass"
    )
    pod.run()

    assert pod.status["trigger"]["waitsFor"] == "DateTimeTrigger 2030-01-01T00:00:00+00:00 end_from_trigger=false"


ONE_HOUR = """
import time
from datetime import timedelta
from typing import Any

from torpor import BaseOperator as BaseSensorOperator
from torpor import Context
from torpor.triggers import Duration as TimeDeltaTrigger


class WaitOneHourSensor(BaseSensorOperator):
    def execute(self, context: Context) -> None:
        self.defer(trigger=TimeDeltaTrigger(timedelta(hours=1)), method_name="execute_complete")

    def execute_complete(self, context: Context, event: dict[str, Any] | None = None) -> None:
        # We have no more work to do here. Mark as complete.
        return
"""
DROP_IN = """
from torpor import BaseOperator, TaskFailed


class S3KeyTrigger:
    def __init__(self, bucket_key, poke_interval):
        self.bucket_key, self.poke_interval = bucket_key, poke_interval

    def serialize(self):
        return "deck.S3KeyTrigger", {"bucket_key": self.bucket_key, "poke_interval": self.poke_interval}


class S3KeySensor(BaseOperator):
    def __init__(self, *, bucket_key, poke_interval=60, **kwargs):
        super().__init__(**kwargs)
        self.bucket_key = bucket_key
        self.poke_interval = poke_interval

    def poke(self, context):
        return self.bucket_key == "is/there"


class S3KeySensorAsync(S3KeySensor):
    def execute(self, context):
        if not self.poke(context):
            self.defer(
                timeout=timedelta(hours=1),
                trigger=S3KeyTrigger(bucket_key=self.bucket_key, poke_interval=self.poke_interval),
                method_name="execute_complete",
            )

    def execute_complete(self, context, event=None):
        if event["status"] == "error":
            raise TaskFailed(event["message"])


from datetime import timedelta
load = S3KeySensorAsync
"""


def test_the_sensor_of_airflows_page_waits_its_hour_and_succeeds(task: Callable[..., TaskPod]) -> None:
    pod = task(ONE_HOUR, name="WaitOneHourSensor", task_id="wait")
    pod.run()
    at = json.loads(pod.status["trigger"]["kwargs"])["at"]
    pod.fire(at)

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


@pytest.mark.parametrize(
    ("event", "state"), [({"status": "success"}, "Succeeded"), ({"status": "error", "message": "no bucket"}, "Failed")]
)
def test_the_decks_sensor_replaces_the_one_it_inherits_from(
    task: Callable[..., TaskPod], event: dict[str, str], state: str
) -> None:
    pod = task(DROP_IN, bucket_key="not/yet", task_id="key")
    pod.run()
    assert json.loads(pod.status["trigger"]["kwargs"]) == {"bucket_key": "not/yet", "poke_interval": 60}
    pod.fire(event)
    pod.run()

    assert pod.status["state"] == state
    assert pod.status.get("message") == event.get("message")


def test_the_decks_sensor_does_not_defer_where_there_is_nothing_to_wait_for(task: Callable[..., TaskPod]) -> None:
    pod = task(DROP_IN, bucket_key="is/there")

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


RESCHEDULE = """
from datetime import UTC, datetime, timedelta
from torpor import context, defer
from torpor.triggers import Duration
class AirflowException(Exception): pass
class AirflowRescheduleException(AirflowException):
    def __init__(self, reschedule_date): self.reschedule_date = reschedule_date
looks = []
def look(*given):
    looks.append(given)
    if len(looks) < 3: raise AirflowRescheduleException(datetime(2030, 1, 1, tzinfo=UTC))
    return [len(looks), context().segment]
def load(path): return look(path)
def first(path, event): return look(path, event)
async def later(path): return look(path)
def twice(path): return defer(Duration(1), then=end)
def end(event): raise AirflowRescheduleException(datetime(2030, 1, 1, tzinfo=UTC))
class Sensor:
    def __init__(self, path): self.path = path
    def execute(self, context): return look(self.path)
"""


@pytest.mark.parametrize("name", ["load", "later", "Sensor"])
def test_an_airflow_reschedule_restarts_the_task_and_uses_no_attempt(task: Callable[..., TaskPod], name: str) -> None:
    pod = task(RESCHEDULE, name=name, path="a.csv")
    for _ in range(2):
        assert pod.run() == 0
        assert pod.status["state"] == "Deferred"
        assert json.loads(pod.status["trigger"]["kwargs"]) == {"at": "2030-01-01T00:00:00.000Z"}
        assert (pod.status["trigger"]["class"], pod.status["attempt"]) == ("time", 1)
        pod.fire("2030-01-01T00:00:00.000Z")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [3, 2]
    assert module_of(pod).looks == [("a.csv",)] * 3


def test_a_reschedule_keeps_the_event_of_the_wait_that_came_first(task: Callable[..., TaskPod]) -> None:
    pod = task(RESCHEDULE, name="first", spec={"trigger": {"class": "http"}}, path="a.csv")
    pod.defer_first()
    pod.fire({"status": 200})
    for _ in range(2):
        pod.run()
        pod.fire("2030-01-01T00:00:00.000Z")

    assert pod.run() == 0
    assert module_of(pod).looks == [("a.csv", {"status": 200})] * 3


def test_a_reschedule_after_a_wait_begins_the_task_from_its_beginning(task: Callable[..., TaskPod]) -> None:
    pod = task(RESCHEDULE, name="twice", path="a.csv")
    for at in ("now", "2030-01-01T00:00:00.000Z"):
        assert pod.run() == 0
        pod.fire(at)

    assert pod.run() == 0
    assert pod.status["next"]["method"].endswith(":end")


def test_a_reschedule_is_tested_without_a_cluster(module: Callable[[str], str]) -> None:
    module_ = __import__(module(RESCHEDULE))

    done = testing.run(module_.load, {"path": "a.csv"}, events=[None, None])
    assert done.result == [3, 2]


def test_an_airflow_sensor_that_times_out_is_not_retried(task: Callable[..., TaskPod]) -> None:
    pod = task(
        DROP_IN + "class BaseSensorOperator: pass\nclass load(S3KeySensorAsync, BaseSensorOperator): pass",
        bucket_key="not/yet",
    )
    pod.run()

    assert pod.status["next"]["timeoutIsFinal"] is True
