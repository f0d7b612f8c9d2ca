"""Triggers before the first pod of a task, instead of any pod, for each instance, and with or without a slot."""

import json
from typing import Any

import pytest
from torpor_crds.models.taskrun import TaskRun
from torpor_operator.settings import Settings
from torpor_wire import times, transitions, trigger
from torpor_wire.state import State

from tests.support.builders import NAMESPACE, NOW, Body, python, wait
from tests.support.plan_fixture import PlanFixture

GRACE = Settings().triggerer_grace


def both(name: str, **fields: Any) -> Body:
    """A function that runs when a trigger has fired."""
    return python(name) | wait(name) | fields


def kwargs(run: TaskRun) -> Any:
    assert run.status.trigger is not None
    return json.loads(run.status.trigger.kwargs)


def test_a_wait_before_a_function_has_no_pod_until_it_fires() -> None:
    world = PlanFixture(both("a", args={"day": 1})).settle()
    assert (world.state("a"), world.pods) == (State.DEFERRED, {})
    assert world.run("a").spec.image == "ingest:1.4"
    world.fire("a")
    (pod,) = world.pods
    assert pod.endswith("-a1-s1")
    assert world.arguments("a") == {"day": "1"}
    assert world.succeed("a", "42").tasks() == {"a": "Succeeded"}


def test_a_retry_of_a_trigger_and_a_function_defers_again() -> None:
    world = PlanFixture(both("a", retries={"limit": 1, "delay": "10s", "backoff": 1})).settle().fire("a").fail("a")
    world.advance(10)
    assert (world.state("a"), world.run("a").status.attempt, world.run("a").status.segment) == (State.DEFERRED, 2, 0)


def test_the_item_of_a_mapped_wait_is_a_kwarg_of_its_trigger() -> None:
    world = PlanFixture(wait("drop", kwargs={"method": "GET"}, expand=[{"name": "url", "over": ["x", "y"]}])).settle()
    assert [kwargs(world.run("drop", index)) for index in (0, 1)] == [
        {"method": "GET", "url": "x"},
        {"method": "GET", "url": "y"},
    ]
    assert world.arguments("drop", 0) == {}
    world.end_wait("drop", '"1"', 0).end_wait("drop", '"2"', 1)
    assert world.tasks() == {"drop": "Succeeded"}


def test_kwargs_may_place_the_item() -> None:
    written = {"url": "https://x/${params.day}/${mapping.value.name}", "number": "${mapping.index + 1}"}
    task = wait("drop", kwargs=written, expand=[{"name": "file", "over": [{"name": "a"}, {"name": "b"}]}])
    world = PlanFixture(task, params={"day": "today"}).settle()
    assert kwargs(world.run("drop", 1)) == {"url": "https://x/today/b", "number": 2}


def test_with_a_function_the_item_is_its_argument() -> None:
    task = both("a", trigger={"class": "http", "kwargs": {"url": "x"}}, expand=[{"name": "n", "over": [7, 8]}])
    world = PlanFixture(task).settle()
    assert kwargs(world.run("a", 1)) == {"url": "x"}
    assert world.arguments("a", 1) == {"n": "8"}


def test_only_a_mapped_task_has_a_mapping() -> None:
    world = PlanFixture(wait("drop", kwargs={"url": "${mapping.value}"})).settle()
    assert world.condition()[1] == "ExpressionInvalid"
    assert "trigger: url: the task is not mapped and has no item: mapping has only `index`" in world.condition()[2]


def test_result_and_fail_when_are_stored_with_the_params_they_use() -> None:
    task = wait("drop", result="event.rows", failWhen="event.rows < params.least")
    world = PlanFixture(task, params={"least": 3, "other": "x"}).settle()
    spec = world.run("drop").spec
    assert (spec.result, spec.fail_when) == ("event.rows", "event.rows < params.least")
    assert world.arguments("drop") == {"params": '{"least":3}'}


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("failWhen", "tasks.b.result == 1", "failWhen"),
        ("result", "event.rows +", "result"),
        ("result", "params.most", "unknown param most"),
    ],
)
def test_result_and_fail_when_see_event_and_params(field: str, text: str, message: str) -> None:
    world = PlanFixture(wait("drop", **{field: text}), wait("b"), params={"least": 3}).settle()
    assert world.status.state == "Failed"
    assert message in world.condition()[2]


def test_a_deferred_task_counts_in_parallelism_only_with_count_deferred() -> None:
    tasks = [wait("a"), wait("b"), python("c")]

    def begun(world: PlanFixture) -> list[str]:
        return [name for name in "abc" if world.has(name)]

    assert begun(PlanFixture(*tasks, parallelism=1).settle()) == ["a", "b", "c"]
    world = PlanFixture(*tasks, parallelism=1, countDeferred=True).settle()
    assert begun(world) == ["a"]
    assert begun(world.end_wait("a")) == ["a", "b"]
    assert world.end_wait("b").live_pods("c")


def test_a_resumed_task_goes_before_new_ones() -> None:
    world = PlanFixture(python("a"), python("b"), python("c"), parallelism=1).settle().defer("a")
    assert world.live_pods("b")
    world.fire("a")
    assert not world.live_pods("a")
    world.succeed("b")
    assert world.live_pods("a")
    assert not world.has("c")


def test_deferred_time_that_does_not_count_extends_the_timeout() -> None:
    world = PlanFixture(python("a", timeout="1m", timeoutWhileDeferred=False)).settle().defer("a")
    assert world.advance(3600).state("a") is State.DEFERRED
    run = world.run("a")
    world.api.patch(run, transitions.fire(run.pin(), "1", deferred=3600, now=world.now))
    world.settle().claim("a")
    assert world.advance(59).state("a") is State.RUNNING
    assert world.advance(2).run("a").status.reason == "Timeout"


@pytest.mark.parametrize(("counts", "deadline"), [(True, 60), (False, None)])
def test_a_deferral_ends_with_its_attempt_only_if_its_time_counts(counts: bool, deadline: float | None) -> None:
    world = PlanFixture(wait("a") | {"timeout": "1m", "timeoutWhileDeferred": counts}).settle()
    assert world.run("a").status.deadline == (None if deadline is None else times.rfc3339(NOW + deadline))


def test_a_timed_out_deferral_resumes_at_on_timeout_without_a_triggerer() -> None:
    world = PlanFixture(python("a")).settle()
    world.claim("a")
    run = world.run("a")
    deferred = trigger.build("http", {"url": "a"}, namespace=NAMESPACE, pool="default", now=NOW)
    resume = {"method": "resume", "kwargs": "{}", "onTimeout": "give_up"}
    world.api.patch(run, transitions.defer(run.pin(), deferred, resume=resume, deadline=NOW + 10, now=NOW))
    world.write_pod("a", -1, {"phase": "Succeeded"})
    assert world.advance(10 + GRACE - 1).state("a") is State.DEFERRED
    status = world.advance(1).run("a").status
    assert (status.state, status.segment, status.timed_out, status.event) == (State.SCHEDULED, 1, True, None)
    assert status.deferred_seconds == 10 + GRACE
