"""`any_of` and `all_of`: what fires, what fails, and that nothing of the others is left behind."""

import asyncio
import json
from typing import Any

import pytest
from torpor.triggers import AllOf, AnyOf, Approval, Duration, Http, Tcp, Time
from torpor.triggers.support import concurrent
from torpor_wire import times

from tests.support.triggerer_fixture import TriggererFixture, answer, triggerer_fixture


def odd(name: str, does: str = "waits") -> dict[str, Any]:
    return {"class": "odd", "kwargs": {"does": does, "name": name}}


def until(world: TriggererFixture, seconds: float) -> dict[str, Any]:
    return {"class": "time", "kwargs": {"at": times.rfc3339(world.now + seconds)}}


async def start_with_wait(world: TriggererFixture, class_name: str, *triggers: Any, **given: Any) -> None:
    world.taskrun("a", class_name, {"triggers": list(triggers)}, **given)
    await world.start()


def event_of(world: TriggererFixture) -> Any:
    return json.loads(world.status("a")["event"])


async def test_the_first_of_several_fires_and_is_named() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "any_of", odd("x"), until(world, 60), odd("y"))
        await world.pass_time(61)
        at = times.rfc3339(world.now - 1)
        assert event_of(world) == {"index": 1, "class": "time", "event": at}
        assert world.called("x") == world.called("y") == ["run", "cleanup"]


async def test_all_of_several_fire_when_the_last_does() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "all_of", until(world, 60), odd("x", "fires"), until(world, 30))
        await world.pass_time(59)
        assert world.state_and_reason("a")[0] == "Deferred"
        await world.pass_time(2)
        moments = [times.rfc3339(world.now - 1), times.rfc3339(world.now - 31)]
        assert event_of(world) == {"events": [moments[0], {"b": 1, "a": 1.0, "none": None}, moments[1]]}
        assert world.called("x") == ["run", "cleanup"]


async def test_they_hold_each_other() -> None:
    async with triggerer_fixture() as world:
        both = {"class": "all_of", "kwargs": {"triggers": [odd("x", "fires"), until(world, 30)]}}
        await start_with_wait(world, "any_of", both, until(world, 60))
        await world.pass_time(31)
        event = event_of(world)
        assert (event["index"], event["class"]) == (0, "all_of")
        assert event["event"]["events"][0] == {"b": 1, "a": 1.0, "none": None}
        assert world.called("x") == ["run", "cleanup"]


@pytest.mark.parametrize("does", ["raises", "ends", "exits", "cancels itself"])
async def test_any_of_goes_on_without_failed_triggers_and_fails_with_the_last(does: str) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "any_of", odd("x", does), until(world, 60))
        await world.pass_time(30)
        assert world.state_and_reason("a")[0] == "Deferred"
        world.taskrun("b", "any_of", {"triggers": [odd("y", does), odd("z", does)]})
        await world.settle()
        assert world.state_and_reason("b") == ("Failed", "TriggerFailed")
        assert "triggers[1] (odd): " in world.status("b")["message"]
        await world.pass_time(31)
        assert event_of(world)["index"] == 1


@pytest.mark.parametrize("does", ["raises", "ends", "exits", "cancels itself"])
async def test_all_of_fails_with_the_first_and_leaves_nothing_running(does: str) -> None:
    async with triggerer_fixture() as world:
        await world.start()
        tasks = len(asyncio.all_tasks())
        world.taskrun("a", "all_of", {"triggers": [odd("x"), odd("y", does)]})
        await world.settle()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "triggers[1] (odd): " in world.status("a")["message"]
        assert world.called("x") == ["run", "cleanup"]
        assert len(asyncio.all_tasks()) == tasks


async def test_a_cancellation_kills_triggers_that_have_not_fired() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "all_of", odd("x"), odd("y", "fires"), odd("z", "fails to clean up"))
        world.edit("a", cancel=times.rfc3339(world.now))
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert world.called("x") == ["run", "on_kill", "cleanup"]
        assert world.called("y") == ["run", "cleanup"]
        assert world.called("z") == ["run", "on_kill", "cleanup"]


async def test_a_handover_kills_nothing_and_the_wait_goes_on_elsewhere() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "any_of", odd("x"), until(world, 120))
        await world.stop("one")
        assert world.called("x") == ["run", "cleanup"]
        await world.start("two")
        await world.pass_time(121)
        assert event_of(world)["index"] == 1


async def test_one_that_does_not_stop_does_not_hold_up_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrent, "STOP_SECONDS", 0.01)
    async with triggerer_fixture() as world:
        await start_with_wait(world, "any_of", odd("x", "ignores its cancellation"), until(world, 5))
        await world.pass_time(6)
        await asyncio.sleep(0.1)
        await world.settle()
        assert event_of(world)["index"] == 1


async def test_a_wait_that_times_out_says_what_each_trigger_saw() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        http = {"class": "http", "kwargs": {"url": "http://x/"}}
        await start_with_wait(world, "any_of", http, {"class": "approval"}, timeout=60)
        await world.pass_time(61)
        assert "http://x/ answered 404; no answer yet" in world.status("a")["message"]


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        ({"class": "http", "kwargs": {"url": "x"}}, "triggers[1] (http): url 'x' is not a URL"),
        ({"class": "http", "kwargs": {"uri": "x"}}, "triggers[1] (http): "),
        ({"class": "nope"}, "triggers[1] (nope): no trigger is registered as 'nope'"),
        (
            {"class": "taskrun", "kwargs": {"name": "a"}},
            "triggers[1] (taskrun): TaskRun 'a' cannot wait for its own end",
        ),
        ({"class": "any_of", "kwargs": {"triggers": []}}, "triggers is empty"),
        (odd("x", "is refused"), "triggers[1] (odd): `does` makes no sense"),
    ],
)
async def test_one_that_cannot_wait_is_named_before_any_does(trigger: Any, words: str) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "all_of", odd("y"), trigger)
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert words in world.status("a")["message"]
        assert world.called("y") == []


async def test_events_that_do_not_fit_together_are_left_out_the_largest_first() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(200, "x" * 3000), answer(200, "y" * 2000), answer(200, "z")]
        await start_with_wait(
            world, "all_of", *({"class": "http", "kwargs": {"url": f"http://x/{name}"}} for name in "abc")
        )
        await world.settle()
        fired_event = event_of(world)
        assert fired_event["truncated"] is True
        assert sum(event is None for event in fired_event["events"]) == 1
        assert "z" in {event["text"] for event in fired_event["events"] if event}


async def test_an_event_that_only_just_fits_alone_is_left_out() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(200, "x" * 4020)]
        await start_with_wait(world, "any_of", {"class": "http", "kwargs": {"url": "http://x/"}})
        event = event_of(world)
        assert (event["index"], event["class"]) == (0, "http")
        assert event["event"] is None or len(json.dumps(event)) <= 4096


def test_triggers_are_serialized_unchanged() -> None:
    any_of = AnyOf([Http("http://x/"), AllOf([Duration("1m"), Approval("Deploy?")]), {"class": "pkg.Own"}])
    name, kwargs = any_of.serialize()
    minute = kwargs["triggers"][1]["kwargs"]["triggers"][0]
    assert (name, minute["class"]) == ("any_of", "time")
    assert kwargs["triggers"][0] == {"class": "http", "kwargs": {"url": "http://x/"}}
    assert kwargs["triggers"][2] == {"class": "pkg.Own", "kwargs": {}}
    assert AnyOf(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


HTTP = Http("http://x/")


@pytest.mark.parametrize(
    ("triggers", "error", "words"),
    [
        ({"class": "http"}, TypeError, "triggers must be a list, not dict"),
        ([], ValueError, "triggers is empty"),
        (["http"], ValueError, r"triggers\[0\] is neither a trigger nor \{class"),
        ([HTTP, Http], ValueError, r"triggers\[1\] is neither"),
        ([{"class": "http", "kwarg": {}}], ValueError, r"triggers\[0\] is neither"),
        ([{"class": "http", "kwargs": []}], TypeError, r"triggers\[0\]: kwargs must be a mapping, not list"),
        ([{"class": "all_of"}], TypeError, "triggers must be a list, not NoneType"),
        ([HTTP] * 17, ValueError, "there are 17 triggers; 16 are allowed"),
        ([AnyOf([HTTP] * 9), AnyOf([HTTP] * 9)], ValueError, "there are 18 triggers"),
        ([AnyOf([AllOf([HTTP])])], ValueError, "triggers are nested 3 levels deep"),
    ],
)
def test_what_makes_no_sense_is_refused(triggers: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        AnyOf(triggers)


def test_sixteen_two_deep_fit() -> None:
    AnyOf([AllOf([HTTP] * 8), AllOf([Time("2026-01-01T00:00:00Z"), Tcp("db", 1)] * 4)])
