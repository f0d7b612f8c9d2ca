"""The runner for unit tests of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from torpor import BaseOperator, Context, Deferral, DeferralError, TaskFailed, context, defer, task
from torpor.errors import RejectedError
from torpor.testing import run

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


def loaded(event: dict[str, Any], seen: list[str]) -> Any:
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
    assert done.deferrals[0].state == {"seen": ["a"]}


def test_an_operator_resumes_as_a_new_instance() -> None:
    done = run(Load, {"path": ["a"]}, events=[(1, 2)])

    assert done.result == [["a"], [1, 2], 1]
    assert done.deferrals[0].method == "complete"


@pytest.mark.parametrize(("events", "said"), [([], "0 events"), ([{"last": True}] * 2, "1 times, and 2 events")])
def test_events_must_be_as_many_as_deferrals(events: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        run(load, {"path": "a"}, events=events)


def fails() -> None:
    raise TaskFailed("no such day")


def too_large() -> str:
    return "x" * 10_000


def unreturned() -> None:
    defer(Drop("a"), then=loaded)


@pytest.mark.parametrize(
    ("function", "error"),
    [(fails, TaskFailed), (too_large, RejectedError), (unreturned, DeferralError)],
)
def test_what_a_cluster_would_refuse_is_raised(function: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(function)


def test_the_context_is_there_while_a_task_runs_and_not_after() -> None:
    assert run(lambda: context().attempt).result == 1
    with pytest.raises(RuntimeError, match="no task is running"):
        context()


def test_the_context_names_its_keys_when_asked_for_another() -> None:
    with pytest.raises(KeyError, match="the context has namespace, workflow"):
        run(lambda: context()["ti"])
