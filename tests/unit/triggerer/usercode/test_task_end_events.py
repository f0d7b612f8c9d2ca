"""One replica: triggers that end their task by an event or by a skip, instead of resuming it (ADR 0015)."""

from typing import Any

import pytest
from torpor.triggers import TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, events

from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture

WITH_A_FUNCTION = {"python": "m:f", "image": "i", "retries": {"limit": 3}}
ONLY_A_WAIT = {"trigger": {"class": "odd"}, "retries": {"limit": 3}}
JUDGED = {**ONLY_A_WAIT, "failWhen": "true", "result": "event.no.such"}
SPECS = {"with a function": WITH_A_FUNCTION, "only a wait": ONLY_A_WAIT, "a wait whose event is judged": JUDGED}

ENDS = [
    ("ends well", "Succeeded", None, '{"rows":3}', None),
    (
        "ends well with values of many types",
        "Succeeded",
        None,
        '{"at":"2026-01-01T00:00:00+00:00","seen":["a","b"]}',
        None,
    ),
    ("ends well as Airflow", "Succeeded", None, '{"rows":3}', None),
    ("ends well as Airflow, with several xcoms", "Succeeded", None, '{"rows":3,"other":1}', None),
    ("ends well as Airflow, without xcoms", "Succeeded", None, "null", None),
    ("ends failed", "Failed", "FailedByEvent", None, "the job was killed"),
    ("ends failed as Airflow", "Failed", "FailedByEvent", None, "the trigger yielded TaskFailedEvent"),
    ("ends skipped", "Skipped", "Skipped", None, "no file today"),
    ("ends skipped as Airflow", "Skipped", "Skipped", None, "the trigger yielded TaskSkippedEvent"),
    ("raises a skip", "Skipped", "Skipped", None, "no file today"),
    ("raises Airflow's skip", "Skipped", "Skipped", None, "no file today"),
]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("does", "state", "reason", "result", "message"), ENDS, ids=[end[0] for end in ENDS])
async def test_an_event_that_ends_the_task_ends_it_at_once_and_for_good(  # noqa: PLR0913, PLR0917 - a table
    does: str, state: str, reason: str | None, result: str | None, message: str | None, spec: str
) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": does, "name": "a"}, spec=SPECS[spec])
        status = world.status("a")
        assert world.state_and_reason("a") == (state, reason)
        assert (status.get("result"), status.get("message")) == (result, message)
        assert (status["attempt"], status["segment"]) == (1, 0)
        assert "completionTime" in status
        assert not {"trigger", "event", "deadline"} & status.keys()
        assert world.called("a") == ["run", "cleanup"]


async def test_a_skip_ends_every_wait_that_shares_the_trigger() -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b"):
            world.taskrun(name, "odd", {"does": "ends skipped"}, spec=WITH_A_FUNCTION)
        await world.start()
        await world.pass_time(5)
        assert world.state_and_reason("a") == world.state_and_reason("b") == ("Skipped", "Skipped")


async def test_a_skip_is_an_event_and_is_counted() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "odd", {"does": "ends skipped"}, spec=WITH_A_FUNCTION)
        triggerer = await world.start()
        await world.pass_time(5)
        assert ("Skipped", "no file today") in world.events("a", "Normal")
        text = triggerer.metrics.text().decode()
        assert 'torpor_triggers_skipped_total{class="odd",pool="default"} 1.0' in text


async def test_an_end_that_is_too_large_fails_the_task_and_says_so() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "ends skipped by 2 MB"}, spec=ONLY_A_WAIT)
        assert world.state_and_reason("a")[1] == "EventInvalid"


class Broken(TaskSkippedEvent):
    """Cannot be read."""

    @property
    def payload(self) -> Any:
        raise LookupError("no")

    @payload.setter
    def payload(self, value: Any) -> None:
        """Nothing is kept."""


def test_as_a_part_of_another_trigger_only_a_success_counts_as_an_event() -> None:
    assert events.payload_of(TaskSuccessEvent(1)) == 1
    for event, words in ((TaskFailedEvent("killed"), "killed"), (TaskSkippedEvent(), "TaskSkippedEvent")):
        with pytest.raises(RuntimeError, match=words):
            events.payload_of(event)


async def test_an_end_that_cannot_be_read_fails_the_task() -> None:
    from torpor_triggerer.model.outcome import Failed  # noqa: PLC0415
    from torpor_triggerer.usercode import task_end_events  # noqa: PLC0415 - for this test alone

    task_end = task_end_events.of_event(Broken())
    assert isinstance(task_end, Failed)
    assert task_end.message == "failed to read the event: LookupError: no"
