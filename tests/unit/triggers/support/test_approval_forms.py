"""`approval` with a form: exactly one answer that fits counts, or the default at the timeout."""

import json
from typing import Any

import pytest
from torpor.triggers import Approval
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture

FIELDS: list[dict[str, Any]] = [
    {"name": "version", "pattern": "[0-9.]+"},
    {"name": "count", "type": "integer", "default": 2},
]
FORM: dict[str, Any] = {"question": "Deploy?", "fields": FIELDS, "options": ["canary", "all"]}


def say(world: TriggererFixture, **words: Any) -> None:
    named = {"approval": "approved", "approval-by": "ann"} | {key.replace("_", "-"): words[key] for key in words}
    annotations = {f"torpor.dev/{key}": value for key, value in named.items()}
    world.fake.edit(TASKRUNS, "workflows", "a", {"metadata": {"annotations": annotations}})


def answers(**values: Any) -> str:
    return json.dumps({"version": "1.4", "options": ["all"]} | values)


async def start(world: TriggererFixture, **kwargs: Any) -> None:
    world.taskrun("a", "approval", FORM | kwargs, timeout=600)
    await world.start()


def event(world: TriggererFixture) -> Any:
    return json.loads(world.status("a")["event"])


async def test_an_answer_that_fits_is_the_event() -> None:
    async with triggerer_fixture() as world:
        await start(world)
        say(world, approval_fields=answers(), approval_note="go")
        await world.settle()
        said = event(world)
        assert (said["approved"], said["by"], said["note"]) == (True, "ann", "go")
        assert (said["fields"], said["options"]) == ({"version": "1.4", "count": 2}, ["all"])


async def test_a_rejection_needs_no_fields() -> None:
    async with triggerer_fixture() as world:
        await start(world)
        say(world, approval="rejected")
        await world.settle()
        assert (event(world)["approved"], event(world)["fields"], event(world)["options"]) == (False, {}, [])


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "version is missing"),
        ("{", "torpor.dev/approval-fields is not JSON"),
        ("[" * 2000, "torpor.dev/approval-fields is not JSON"),
        (f'"{"x" * 3_000_000}"', "torpor.dev/approval-fields has 3000002 characters; the limit is 2048"),
        (answers(version="1.4\x00"), "version contains a control character"),
        (answers(version="latest"), "version does not match [0-9.]+"),
        (answers(count="2"), "count must be of type integer"),
        (answers(options=["canary", "all"]), "choose one of the options canary, all"),
        (answers(admin=True), "admin is not a field"),
    ],
)
async def test_an_answer_that_does_not_fit_is_not_taken(text: str | None, words: str) -> None:
    async with triggerer_fixture() as world:
        await start(world)
        say(world, approval_fields=text)
        await world.pass_time(30)
        assert world.state_and_reason("a")[0] == "Deferred"
        assert f"the answer of ann does not fit: {words}" in world.status("a")["message"]
        say(world, approval_fields=answers())
        await world.settle()
        assert event(world)["fields"]["version"] == "1.4"


@pytest.mark.attack
async def test_a_second_answer_does_not_count() -> None:
    async with triggerer_fixture() as world:
        await start(world)
        say(world, approval_fields=answers(version="1"))
        await world.settle()
        first = world.status("a")
        say(world, approval_fields=answers(version="2"), approval_by="bob")
        await world.pass_time(30)
        assert world.status("a") == first
        assert event(world)["by"] == "ann"


async def test_the_default_is_the_event_at_the_timeout() -> None:
    async with triggerer_fixture() as world:
        await start(world, default={"fields": {"version": "0"}, "options": ["canary"]})
        await world.pass_time(599)
        assert world.state_and_reason("a")[0] == "Deferred"
        await world.pass_time(2)
        said = event(world)
        assert (said["approved"], said["by"]) == (True, None)
        assert (said["fields"], said["options"]) == ({"version": "0", "count": 2}, ["canary"])


@pytest.mark.attack
async def test_an_answer_after_the_timeout_does_not_count() -> None:
    async with triggerer_fixture() as world:
        await start(world, default={"approved": False})
        await world.pass_time(601)
        say(world, approval_fields=answers())
        await world.pass_time(30)
        assert (event(world)["approved"], event(world)["by"]) == (False, None)


async def test_without_a_default_the_timeout_fails_the_task() -> None:
    async with triggerer_fixture() as world:
        await start(world)
        await world.pass_time(601)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")


@pytest.mark.parametrize(
    ("default", "words"),
    [
        ({}, "default must be {approved, fields, options}"),
        ({"by": "ann"}, "default must be {approved, fields, options}"),
        ({"approved": "yes"}, "approved must be true or false"),
        ({"fields": {"version": "1"}}, "default: choose one of the options"),
        ({"fields": {"count": 1}, "options": "all"}, "default: version is missing"),
    ],
)
def test_a_default_that_does_not_fit_the_form_is_refused(default: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Approval("Deploy?", fields=FIELDS, options=["canary", "all"], default=default)


def test_a_form_is_stored_as_it_was_written() -> None:
    kwargs = FORM | {"default": {"approved": False}, "multiple": True}
    assert Approval(**kwargs).serialize() == ("approval", kwargs)
