"""The runner for unit tests of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from torpor import BaseOperator, BaseSensor, Context, Deferral, DeferralError, TaskFailed, context, defer, task
from torpor.errors import RejectedError
from torpor.testing import TIMED_OUT, run

if TYPE_CHECKING:
    from collections.abc import Callable


class Drop:
    """A trigger."""

    def __init__(self, url: str) -> None:
        self.url = url

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "http", {"url": self.url}


@task
def load(path: str) -> Deferral:
    return defer(Drop(path), then=loaded, timeout="1m", seen=(path,))


def loaded(event: dict[str, Any], seen: Sequence[str]) -> Any:
    return [event, seen] if event["last"] else defer(Drop("again"), then=loaded, seen=[*seen, "again"])


class Load(BaseOperator):
    """An operator."""

    def __init__(self, path: list[str]) -> None:
        super().__init__(task_id="load")
        self.path = path

    def execute(self, context: Context) -> None:
        self.path.append("lost")
        self.defer(trigger=Drop(self.path[0]), method_name="complete")

    def complete(self, context: Context, event: object) -> Any:
        return [self.path, event, context.segment]


def test_a_function_runs_to_its_end_with_an_event_for_each_deferral() -> None:
    done = run(load, {"path": "a"}, events=[{"last": False}, {"last": True}])

    assert done.result == [{"last": True}, ["a", "again"]]
    assert [(wait.class_name, wait.kwargs, wait.timeout) for wait in done.deferrals] == [
        ("http", {"url": "a"}, 60.0),
        ("http", {"url": "again"}, None),
    ]
    assert done.deferrals[0].state == {"seen": ("a",)}


def test_an_operator_resumes_as_a_new_instance() -> None:
    done = run(Load, {"path": ["a"]}, events=[(1, 2)])

    assert done.result == [["a"], [1, 2], 1]
    assert done.deferrals[0].method == "complete"


@pytest.mark.parametrize(("events", "message"), [([], "0 events"), ([{"last": True}] * 2, "1 times, but 2 events")])
def test_events_must_be_as_many_as_deferrals(events: list[Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        run(load, {"path": "a"}, events=events)


def fails() -> None:
    raise TaskFailed("no such day")


def not_json() -> set[str]:
    return {"x"}


def unreturned() -> None:
    defer(Drop("a"), then=loaded)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("function", "error"),
    [(fails, TaskFailed), (not_json, RejectedError), (unreturned, DeferralError)],
)
def test_what_a_cluster_would_refuse_is_raised(function: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(function)


def test_the_context_is_there_while_a_task_runs_and_not_after() -> None:
    assert run(lambda: context().attempt).result == 1
    with pytest.raises(RuntimeError, match="no task is running"):
        context()


def test_a_unit_test_is_in_no_group_unless_its_context_says_so() -> None:
    inside = Context(
        namespace="n",
        workflow="w",
        task="t",
        map_index=0,
        group_indexes=(2, 0),
        attempt=1,
        segment=0,
        taskrun="r",
        uid="u",
    )

    assert run(lambda: context().group_indexes).result == []
    assert run(lambda: context()["group_indexes"], context=inside).result == [2, 0]


def test_the_context_names_its_keys_when_asked_for_another() -> None:
    with pytest.raises(KeyError, match="the context has namespace, workflow"):
        run(lambda: context()["ti"])


def until_noon(day: str) -> Deferral:
    return defer(Moment(), then=at_noon, on_timeout=missed, timeout="1h", day=day)


def at_noon(event: str, day: str) -> list[str]:
    return [event, day]


def missed(day: str) -> str:
    return f"missed {day}"


class Moment:
    """A trigger with a moment and a secret."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "pkg.Moment", {"at": datetime(2030, 1, 1, 12, tzinfo=UTC), "encrypted__token": "hunter2"}


def test_a_wait_that_times_out_goes_on_where_the_task_says() -> None:
    done = run(until_noon, {"day": "mon"}, events=[TIMED_OUT])

    assert done.result == "missed mon"
    assert done.deferrals[0].on_timeout == f"{__name__}:missed"
    assert run(until_noon, {"day": "mon"}, events=["now"]).result == ["now", "mon"]


def test_a_wait_that_times_out_fails_the_task_where_it_says_nothing() -> None:
    with pytest.raises(TaskFailed, match="http did not fire within 1m"):
        run(load, {"path": "a"}, events=[TIMED_OUT])


def test_a_wait_without_a_timeout_cannot_time_out() -> None:
    with pytest.raises(AssertionError, match="no timeout"):
        run(load, {"path": "a"}, events=[{"last": False}, TIMED_OUT])


def test_a_test_sees_the_arguments_of_the_triggers_class_and_no_secret() -> None:
    kwargs = run(until_noon, {"day": "mon"}, events=["now"]).deferrals[0].kwargs

    assert kwargs["at"] == datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert kwargs["encrypted__token"].startswith("sealed:")


def test_a_task_that_a_wait_comes_before_is_given_its_event() -> None:
    def begin(path: str, event: object) -> list[object]:
        return [path, event, context().segment]

    assert run(begin, {"path": "a"}, first_event=None).result == ["a", None, 1]
    assert run(Begin, {"path": "a"}, first_event="now").result == ["a", "now"]


class Begin:
    """An operator that a wait comes before."""

    def __init__(self, path: str) -> None:
        self.path = path

    def execute(self, context: Context, event: object) -> list[object]:
        return [self.path, event]


class SecondPodSensor(BaseSensor):
    """Is there in its second pod."""

    def poke(self, context: Context) -> bool:
        return context.segment > 0


class AsyncKey(BaseSensor):
    """Looks in the triggerer."""

    async def poke(self, context: Context) -> bool:
        return context.segment > 0


def test_a_sensor_takes_an_event_for_each_failed_poke() -> None:
    done = run(SecondPodSensor, {"poke_interval": "5m"}, events=[None])

    assert [wait.class_name for wait in done.deferrals] == ["time"]


def test_a_sensor_with_an_async_poke_returns_the_triggerers_value() -> None:
    done = run(AsyncKey, {"timeout": "1h"}, events=[{"size": 7}])

    assert done.result == {"size": 7}
    assert done.deferrals[0].class_name == f"{__name__}.AsyncKey"
    assert done.deferrals[0].timeout == pytest.approx(3600, abs=1)
    with pytest.raises(TaskFailed):
        run(AsyncKey, {"timeout": "1h"}, events=[TIMED_OUT])
