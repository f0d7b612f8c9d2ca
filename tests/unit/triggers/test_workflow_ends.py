"""`workflow` with labels or a cursor: the ends of several runs, each once and in the order of their times."""

import json
from typing import Any

import pytest
from torpor.triggers import WorkflowEnd
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import times

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture

LABELS = {"team": "data", "step": "load"}
BEGIN = "2023-11-14T00:00:00Z"


def workflow(
    world: TriggererFixture, name: str, state: str = "Running", at: float | None = None, **labels: str
) -> None:
    """A run of this name: a new one, or a change of one."""
    words = {"Succeeded": "True", "Failed": "False", "Cancelled": "False"}
    condition: dict[str, Any] = {"type": "Succeeded", "status": words.get(state, "Unknown")}
    if state == "Failed":
        condition |= {"reason": "TaskFailed", "message": "load: no such file"}
    status: dict[str, Any] = {"state": state, "conditions": [condition]}
    if state in words:
        status["completionTime"] = times.rfc3339(world.now if at is None else at)
    if world.fake.get(WORKFLOWS, "workflows", name) is None:
        metadata = {"name": name, "namespace": "workflows", "labels": labels or LABELS}
        world.fake.put(WORKFLOWS, {"metadata": metadata, "status": status})
    else:
        world.fake.edit(WORKFLOWS, "workflows", name, {"status": status})


async def armed(world: TriggererFixture, taskrun: str, cursor: str, **given: Any) -> Any:
    """The event of a wait with this cursor, or None if it still waits after a minute."""
    kwargs = {"labels": {"team": "data"}, "cursor": cursor, **given}
    world.taskrun(taskrun, "workflow", {key: value for key, value in kwargs.items() if value is not None})
    await world.settle()
    await world.pass_time(60)
    status = world.status(taskrun)
    assert status["state"] in {"Deferred", "Scheduled"}, status
    return json.loads(status["event"]) if status["state"] == "Scheduled" else None


async def all_of(world: TriggererFixture, cursor: str, **given: Any) -> tuple[list[str], str]:
    """The names of the runs whose ends fire, one wait after the other, and the last cursor."""
    names: list[str] = []
    while (event := await armed(world, f"{world.now:.0f}", cursor, **given)) is not None:
        names.append(event["name"])
        cursor = event["cursor"]
    return names, cursor


async def test_each_end_fires_once_in_the_order_of_the_times() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        for name, before in (("third", 10), ("first", 300), ("second", 200), ("same-a", 100), ("same-b", 100)):
            workflow(world, name, "Succeeded", world.now - before)
        workflow(world, "other", "Succeeded", world.now - 50, team="other")
        workflow(world, "running")
        names, cursor = await all_of(world, BEGIN)
        assert names[:2] == ["first", "second"]
        assert sorted(names[2:4]) == ["same-a", "same-b"]
        assert names[4:] == ["third"]
        workflow(world, "running", "Failed")
        assert (await all_of(world, cursor))[0] == ["running"]


async def test_the_event_has_how_and_when_the_run_ended() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        workflow(world, "a", "Failed", times.epoch("2023-11-14T08:00:00Z"))
        event = await armed(world, "wait", BEGIN)
        assert event.pop("cursor").startswith("2023-11-14T08:00:00.000000Z ")
        assert event.pop("uid")
        assert event == {
            "name": "a",
            "state": "Failed",
            "reason": "TaskFailed",
            "message": "load: no such file",
            "completed": "2023-11-14T08:00:00.000Z",
        }


async def test_a_wait_sees_later_ends_and_those_that_a_broken_watch_missed() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        workflow(world, "a")
        workflow(world, "b")
        for name in ("a", "b"):
            world.taskrun(f"wait-{name}", "workflow", {"labels": LABELS, "cursor": None})
            await world.pass_time(30)
            assert world.state_and_reason(f"wait-{name}")[0] == "Deferred"
            if name == "b":
                world.fake.end_watches()
            workflow(world, name, "Succeeded")
            if name == "b":
                world.fake.compact()
            await world.pass_time(30)
            assert world.state_and_reason(f"wait-{name}")[0] == "Scheduled"


async def test_an_end_that_becomes_visible_late_is_not_lost() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": BEGIN})
        await world.settle()
        workflow(world, "second", "Succeeded", world.now)
        await world.pass_time(1)
        workflow(world, "first", "Succeeded", world.now - 1.5)
        await world.pass_time(10)
        event = json.loads(world.status("wait")["event"])
        assert event["name"] == "first"
        assert (await armed(world, "again", event["cursor"]))["name"] == "second"


async def test_an_end_does_not_shorten_the_time_for_earlier_ends_to_appear() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": BEGIN})
        await world.settle()
        workflow(world, "second", "Succeeded", world.now)
        await world.pass_time(0.5)
        workflow(world, "third", "Succeeded", world.now)
        await world.pass_time(0.5)
        workflow(world, "first", "Succeeded", world.now - 1.5)
        await world.pass_time(10)
        event = json.loads(world.status("wait")["event"])
        assert [event["name"], *(await all_of(world, event["cursor"]))[0]] == ["first", "second", "third"]


async def test_an_end_that_is_deleted_while_it_settles_does_not_hide_the_next() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": BEGIN})
        await world.settle()
        workflow(world, "gone", "Succeeded")
        await world.pass_time(1)
        world.fake.remove(WORKFLOWS, "workflows", "gone")
        workflow(world, "next", "Succeeded")
        await world.pass_time(10)
        assert json.loads(world.status("wait")["event"])["name"] == "next"


async def test_an_end_that_a_list_shows_before_the_watch_does_is_not_forgotten() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": BEGIN})
        await world.settle()
        workflow(world, "gone", "Succeeded")
        await world.pass_time(1)
        world.fake.hold_watches()
        world.fake.remove(WORKFLOWS, "workflows", "gone")
        workflow(world, "next", "Succeeded")
        await world.pass_time(1.5)
        world.fake.release_watches()
        await world.pass_time(10)
        assert json.loads(world.status("wait")["event"])["name"] == "next"


async def test_a_null_cursor_begins_at_the_deferral() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        workflow(world, "old", "Succeeded", world.now - 1)
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": None})
        await world.pass_time(30)
        assert world.state_and_reason("wait")[0] == "Deferred"
        workflow(world, "new", "Succeeded")
        await world.pass_time(30)
        assert json.loads(world.status("wait")["event"])["name"] == "new"


async def test_only_the_ends_that_count_fire() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        for number, state in enumerate(["Failed", "Succeeded", "Cancelled", "Succeeded"]):
            workflow(world, f"r{number}", state, world.now - 100 + number * 10)
        assert (await all_of(world, BEGIN, state="succeeded"))[0] == ["r1", "r3"]


async def test_without_a_cursor_the_first_end_fires_and_has_none() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        workflow(world, "a", "Succeeded", world.now - 100)
        workflow(world, "b", "Succeeded", world.now - 200)
        world.taskrun("wait", "workflow", {"labels": LABELS})
        await world.pass_time(30)
        event = json.loads(world.status("wait")["event"])
        assert (event["name"], "cursor" in event) == ("b", False)


async def test_a_run_by_name_fires_at_each_of_its_ends() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        workflow(world, "a", "Failed", world.now - 100)
        first = await armed(world, "w1", BEGIN, labels=None, name="a")
        assert first["state"] == "Failed"
        assert await armed(world, "w2", first["cursor"], labels=None, name="a") is None
        workflow(world, "a", "Succeeded")
        second = await armed(world, "w3", first["cursor"], labels=None, name="a")
        assert (second["state"], second["name"]) == ("Succeeded", "a")


async def test_a_missing_right_to_read_workflows_is_reported() -> None:
    async with triggerer_fixture() as world:
        world.fake.inject(Fault(status=403, path="/workflows/workflows", message="workflows is forbidden"))
        world.taskrun("wait", "workflow", {"labels": LABELS, "cursor": BEGIN})
        await world.start()
        await world.pass_time(30)
        assert world.state_and_reason("wait") == ("Failed", "TriggerFailed")
        assert "may not watch Workflow: workflows is forbidden" in world.status("wait")["message"]


async def test_waits_share_one_watch_and_lists_are_selected_by_label() -> None:
    async with triggerer_fixture() as world:
        await world.start()
        for number in range(5):
            world.taskrun(f"w{number}", "workflow", {"labels": {"step": f"s{number}"}, "cursor": BEGIN})
        await world.pass_time(30)
        lists = [
            request.query for request in world.fake.requests if request.path.endswith("/namespaces/workflows/workflows")
        ]
        selected = [query["labelSelector"] for query in lists if "labelSelector" in query]
        assert sorted(selected) == [f"step=s{number}" for number in range(5)]
        others = [query for query in lists if "labelSelector" not in query]
        assert [query.get("watch", query.get("limit")) for query in others] == ["1", "1"]
        assert len(others) == 2  # the first resourceVersion, and the watch


def test_it_reads_back_what_it_wrote() -> None:
    name, kwargs = WorkflowEnd(labels=LABELS, state="succeeded", cursor="2026-11-20T08:00:00Z").serialize()
    assert (name, kwargs) == (
        "workflow",
        {"labels": {"step": "load", "team": "data"}, "state": "succeeded", "cursor": "2026-11-20T08:00:00Z"},
    )
    assert WorkflowEnd(**kwargs).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({}, ValueError, "give either name or labels"),
        ({"name": "a", "labels": LABELS}, ValueError, "give either name or labels"),
        ({"labels": "team=data"}, TypeError, "labels must be a mapping"),
        ({"labels": {}}, ValueError, "there are 0 labels"),
        ({"labels": {f"l{number}": "x" for number in range(9)}}, ValueError, "1 to 8 are allowed"),
        ({"labels": {"team": 7}}, TypeError, "quote numbers"),
        ({"labels": {"team": "a,b"}}, ValueError, "is not a valid label"),
        ({"labels": {"team in (a)": "b"}}, ValueError, "is not a valid label"),
        ({"labels": LABELS, "cursor": "x"}, ValueError, "neither a time nor the cursor"),
    ],
)
def test_what_makes_no_sense_is_refused(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        WorkflowEnd(**kwargs)
