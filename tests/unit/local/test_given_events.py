"""An event that the user gives ends a wait at once; the trigger does not run."""

from pathlib import Path
from typing import Any

import pytest
from torpor_local import waits
from torpor_local.options import LocalRunError
from torpor_triggerer.model.outcome import Fired

from tests.unit.local.local_runs import Changes, play

UNREACHABLE = {"class": "http", "kwargs": {"url": "http://127.0.0.1:1/"}}


def taskrun(index: int = -1, groups: list[int] | None = None) -> dict[str, Any]:
    return {"spec": {"task": "load", "mapIndex": index, "groupIndexes": groups}}


def test_an_instance_is_named_by_its_indexes() -> None:
    assert waits.instance(taskrun()) == "load"
    assert waits.instance(taskrun(3)) == "load/3"
    assert waits.instance(taskrun(3, [0, 1])) == "load/0.1.3"
    assert waits.instance(taskrun(-1, [2])) == "load/2"


def test_the_event_of_an_instance_precedes_that_of_its_task() -> None:
    events = {"load": 1, "load/3": 2}
    assert waits.answer(events, taskrun(3)) == Fired(event="2")
    assert waits.answer(events, taskrun(4)) == Fired(event="1")
    assert waits.answer({}, taskrun(4)) is None


def test_an_event_without_a_task_is_an_error() -> None:
    with pytest.raises(
        LocalRunError, match="there is no task lod, which has an event or an answer; the tasks are drop, load"
    ):
        waits.check_events({"lod": 1}, ["load", "drop"])


async def test_waits_end_with_the_events_of_the_user(tmp_path: Path) -> None:
    seen = Changes()
    outcome = await play(
        tmp_path,
        {"name": "drop", "trigger": UNREACHABLE, "result": "event.files"},
        {
            "name": "poll",
            "python": "local_tasks:wait",
            "args": {"trigger": "http", "kwargs": UNREACHABLE["kwargs"]},
            "expand": [{"name": "item", "over": [1, 2]}],
        },
        seen=seen,
        events={"drop": {"files": ["a"]}, "poll": "any", "poll/1": "second"},
    )
    assert outcome.results == {"drop": ["a"], "poll": ["any", "second"]}
    assert seen.states_of("drop") == ["Scheduled", "Deferred", "Succeeded"]
