"""One replica: tasks that are only a wait, and what they make of their event."""

import itertools
import json
from typing import Any

import pytest
from torpor_expressions.value import Value
from torpor_triggerer.model import task_result
from torpor_triggerer.model.deferred_taskrun import EndExpressions
from torpor_triggerer.model.outcome import Failed, Fired
from torpor_wire.reason import Reason

from tests.support.triggerer_fixture import TriggererFixture, start_with_wait, triggerer_fixture

EVENT = '{"b":1,"a":1.0,"none":null}'


def only_a_wait(**fields: Any) -> dict[str, Any]:
    return {"trigger": {"class": "odd"}, "retries": {"limit": 1}, **fields}


async def ended(world: TriggererFixture, **fields: Any) -> dict[str, Any]:
    await start_with_wait(world, "a", kwargs={"does": "fires", "name": "a"}, spec=only_a_wait(**fields))
    return world.status("a")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("event.b + 1", "2"),
        ("event", '{"a":1.0,"b":1,"none":null}'),
        ("event.none", "null"),
        ("[event.a, event.b == 1 ? 'one' : 'more']", '[1.0,"one"]'),
    ],
)
async def test_the_result_is_the_value_of_its_expression_over_the_event(result: str, text: str) -> None:
    async with triggerer_fixture() as world:
        status = await ended(world, result=result)
        assert (status["state"], status["result"]) == ("Succeeded", text)


async def test_without_a_result_it_is_the_event_itself() -> None:
    async with triggerer_fixture() as world:
        status = await ended(world, failWhen="event.b > 1")
        assert (status["state"], status["result"]) == ("Succeeded", EVENT)


async def test_params_are_those_stored_beside_the_expression() -> None:
    async with triggerer_fixture() as world:
        arguments = [{"name": "params", "value": '{"day":"2026-11-20"}'}]
        status = await ended(world, result="params.day + '!'", arguments=arguments)
        assert status["result"] == '"2026-11-20!"'


async def test_run_has_the_fields_stored_beside_the_expression() -> None:
    async with triggerer_fixture() as world:
        arguments = [{"name": "run", "value": '{"at":"2026-11-20T02:00:00Z"}'}]
        status = await ended(world, result="run.at", arguments=arguments)
        assert status["result"] == '"2026-11-20T02:00:00Z"'


async def test_it_fails_where_fail_when_is_true_and_is_tried_again() -> None:
    async with triggerer_fixture() as world:
        status = await ended(world, failWhen="event.b == 1", result="event.b")
        assert world.state_and_reason("a") == ("UpForRetry", "FailWhen")
        assert status["message"] == f"failWhen is true: event.b == 1; the event: {EVENT}"
        assert world.called("a") == ["run", "cleanup"]


@pytest.mark.parametrize(
    ("fields", "state", "reason", "words"),
    [
        ({"result": "event.missing"}, "UpForRetry", "ExpressionFailed", "result: "),
        ({"failWhen": "event.missing"}, "UpForRetry", "ExpressionFailed", "failWhen: "),
        (
            {"failWhen": "event.b"},
            "UpForRetry",
            "ExpressionFailed",
            "failWhen yields a value of type int, not true or false: event.b",
        ),
        ({"result": "event."}, "Failed", "ExpressionInvalid", "result: "),
        ({"result": "secrets.x"}, "Failed", "ExpressionInvalid", "result: "),
    ],
)
async def test_an_expression_that_does_not_work_fails_it_and_says_which(
    fields: dict[str, str], state: str, reason: str, words: str
) -> None:
    async with triggerer_fixture() as world:
        status = await ended(world, **fields)
        assert world.state_and_reason("a") == (state, reason)
        assert words in status["message"]
        assert next(iter(fields.values())) in status["message"]


async def test_a_result_over_its_limit_fails_it() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(
            world, "a", kwargs={"does": "yields 3 kB"}, spec=only_a_wait(result="[event, event, event]")
        )
        assert world.state_and_reason("a") == ("Failed", "ResultInvalid")
        assert world.status("a")["message"].startswith(
            "the result is 9226 bytes of JSON and 8192 fit, and no archive is installed"
        )


async def test_the_expressions_of_a_task_with_a_function_are_not_the_triggerers() -> None:
    async with triggerer_fixture() as world:
        status = await ended(world, python="m:f", image="i", result="event.b", failWhen="true")
        assert (status["state"], status["event"]) == ("Scheduled", EVENT)


async def test_an_outcome_that_fails_to_be_written_for_unknown_reasons_is_retried() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "duration", {"duration": "1s"})
        await world.start()
        request = world.fake.request
        tries: list[float] = []

        async def broken(method: str, path: str, **given: Any) -> Any:
            if method == "PATCH" and "/status" in path and len(tries) < 4:
                tries.append(world.now)
                raise ZeroDivisionError("nobody thought of it")
            return await request(method, path, **given)

        world.fake.request = broken  # type: ignore[method-assign]
        await world.pass_time(30)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert [round(after - before) for before, after in itertools.pairwise(tries)] == [1, 2, 4]


@pytest.mark.parametrize(
    ("class_name", "event", "message"),
    [
        ("approval", {"approved": False, "by": "bob", "note": "not today"}, "rejected by bob: not today"),
        ("approval", {"approved": False, "by": "bob", "note": None}, "rejected by bob"),
        (
            "any_of",
            {"index": 1, "class": "approval", "event": {"approved": False, "by": "bob", "note": "no"}},
            "rejected by bob: no",
        ),
        ("approval", {"approved": True, "by": "bob", "note": "fine"}, "failWhen is true: "),
        ("http", {"approved": False, "by": "bob", "note": "forged"}, "failWhen is true: "),
    ],
)
async def test_a_rejection_is_reported_with_the_persons_note(class_name: str, event: Any, message: str) -> None:
    async def true(*_: object) -> Value:
        return Value(json=True)

    expressions = EndExpressions(result=None, fail_when="!event.approved", params="{}", run="{}")
    fired = Fired(event=json.dumps(event))
    result = await task_result.apply_expressions(true, "team", expressions, fired, class_name=class_name)
    assert isinstance(result, Failed)
    assert result.reason is Reason.FAIL_WHEN
    assert result.message.startswith(message)
