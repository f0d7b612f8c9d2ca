"""`approval`: which word answers which wait."""

from typing import Any

import pytest
from torpor.triggers import Approval
from torpor.triggers.approval import command, wait_name
from torpor.triggers.services import TaskRunRef
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import names

from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture

LATER = {"attempt": 2, "segment": 3}


def say(world: TriggererFixture, name: str = "a", **words: str | None) -> None:
    """What `kubectl annotate` does; `by` is `torpor.dev/approval-by`."""
    annotations = {f"torpor.dev/{key.replace('_', '-')}": value for key, value in words.items()}
    world.fake.edit(TASKRUNS, "workflows", name, {"metadata": {"annotations": annotations}})


def state(world: TriggererFixture, name: str = "a") -> str:
    return world.state_and_reason(name)[0]


async def start_approval(world: TriggererFixture, **status: Any) -> None:
    world.taskrun("a", "approval", {"question": "Deploy 1.4?"}, timeout=600, status=status)
    await world.start()


async def test_an_answer_fires_with_person_and_time() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world)
        assert state(world) == "Deferred"
        say(world, approval="approved", approval_by="ann", approval_note="go ahead")
        await world.settle()
        assert state(world) == "Scheduled"
        assert world.status("a")["event"] == (
            '{"approved":true,"by":"ann","note":"go ahead","at":"2023-11-14T22:13:20.000Z"}'
        )


async def test_a_rejection_is_an_answer_too() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world)
        say(world, approval="rejected", approval_by="ann")
        await world.settle()
        assert world.status("a")["event"].startswith('{"approved":false,"by":"ann","note":null,')


async def test_the_time_is_that_of_the_api_server_if_known() -> None:
    def entry(moment: str, annotation: str) -> dict[str, Any]:
        fields: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, f"f:torpor.dev/{annotation}": {}}}}
        return {"manager": "m", "time": moment, "fieldsType": "FieldsV1", "fieldsV1": fields}

    async with triggerer_fixture() as world:
        await start_approval(world)
        managed = [
            entry("2023-01-01T00:00:00Z", "approval"),
            entry("2023-01-02T00:00:00Z", "approval"),
            entry("2023-01-03T00:00:00Z", "approval-note"),
            {"manager": "m", "time": "2023-01-04T00:00:00Z", "fieldsV1": {"f:status": {}}},
        ]
        world.fake.edit(TASKRUNS, "workflows", "a", {"metadata": {"managedFields": managed}})
        say(world, approval="approved", approval_by="ann")
        await world.settle()
        assert world.status("a")["event"].endswith('"at":"2023-01-02T00:00:00Z"}')


async def test_what_was_said_to_an_earlier_wait_does_not_answer_a_later_one() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world, **LATER)
        for stale in ({}, {"approval_for": "a1-s0"}, {"approval_for": "a2-s2"}, {"approval_for": None, "x": "1"}):
            say(world, approval="approved", approval_by="ann", **stale)
            await world.pass_time(10)
            assert state(world) == "Deferred"
        say(world, approval_for="a2-s3")
        await world.settle()
        assert state(world) == "Scheduled"


async def test_a_wait_is_not_answered_by_an_answer_to_another() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world)
        say(world, approval="approved", approval_by="ann", approval_for="a1-s1")
        await world.pass_time(10)
        assert state(world) == "Deferred"


async def test_an_answer_is_kept_for_the_replica_that_takes_the_wait_over() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world, **LATER)
        await world.crash("one")
        say(world, approval="rejected", approval_by="ann", approval_for="a2-s3")
        await world.start("two")
        await world.pass_time(30)
        assert state(world) == "Scheduled"


async def test_an_answer_on_a_taskrun_answers_no_other() -> None:
    async with triggerer_fixture() as world:
        await start_approval(world)
        world.taskrun("b", "approval", {"question": "Deploy 1.4?"})
        await world.settle()
        assert world.status("a")["trigger"]["key"] != world.status("b")["trigger"]["key"]
        say(world, approval="approved", approval_by="ann")
        await world.settle()
        assert (state(world), state(world, "b")) == ("Scheduled", "Deferred")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "no answer yet"),
        ({"approval": "yes", "approval_by": "ann"}, "torpor.dev/approval is 'yes', neither approved nor rejected"),
        ({"approval": "approved"}, "torpor.dev/approval-by is missing"),
        (
            {"approval": "approved", "approval_for": "a0-s0"},
            "the answer 'approved' is for an earlier deferral of this TaskRun",
        ),
    ],
)
async def test_an_unanswered_wait_says_how_to_answer(words: dict[str, str], message: str) -> None:
    how = "; answer with: kubectl annotate --overwrite -n workflows taskrun a torpor.dev/approval=approved "
    async with triggerer_fixture() as world:
        await start_approval(world)
        say(world, **words)
        await world.pass_time(20)
        assert f": {message}{how}" in world.status("a")["message"]
        await world.pass_time(600)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert world.status("a")["message"].endswith(f"; last look: {message}")


async def test_among_several_it_says_how_to_as_well() -> None:
    parts = [{"class": "approval", "kwargs": {}}, {"class": "time", "kwargs": {"at": "2030-01-01T00:00:00Z"}}]
    async with triggerer_fixture() as world:
        world.taskrun("a", "any_of", {"triggers": parts}, timeout=600)
        await world.start()
        await world.pass_time(20)
        assert ": no answer yet; answer with: kubectl annotate" in world.status("a")["message"]
        await world.pass_time(600)
        assert world.status("a")["message"].endswith("; last look: no answer yet")


async def test_a_time_of_answer_in_the_future_is_not_accepted() -> None:
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {"f:torpor.dev/approval": {}}}}
    async with triggerer_fixture() as world:
        await start_approval(world)
        managed = [{"manager": "m", "time": "2099-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}]
        world.fake.edit(TASKRUNS, "workflows", "a", {"metadata": {"managedFields": managed}})
        say(world, approval="approved", approval_by="ann")
        await world.settle()
        assert world.status("a")["event"].endswith('"at":"2023-11-14T22:13:20.000Z"}')


def test_the_command_names_the_wait_where_there_have_been_others() -> None:
    first = TaskRunRef("t", "u", 1, 0)
    assert command("ns", first) == (
        "kubectl annotate --overwrite -n ns taskrun t torpor.dev/approval=approved torpor.dev/approval-by=YOU"
    )
    assert command("ns", first._replace(segment=1)).endswith(" torpor.dev/approval-for=a1-s1")
    assert command("ns", first._replace(attempt=2)).endswith(" torpor.dev/approval-for=a2-s0")


def test_a_wait_is_named_as_its_pod_is() -> None:
    assert names.pod("t", 2, 3, 0) == f"t-{wait_name(TaskRunRef('t', 'u', 2, 3))}"


def test_the_question_is_what_people_see() -> None:
    assert Approval().serialize() == ("approval", {})
    assert Approval("Deploy?").serialize() == ("approval", {"question": "Deploy?"})
    assert Approval(subject="Deploy").serialize() == ("approval", {"subject": "Deploy"})
    with pytest.raises(TypeError, match="question must be text"):
        Approval(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="subject has 254 characters; 1 to 253 are allowed"):
        Approval(subject="x" * 254)
    with pytest.raises(ValueError, match="subject contains a character that is not printable"):
        Approval(subject="Deploy\n")


async def test_an_answer_of_a_person_who_is_not_an_approver_does_not_fire() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "approval", {"approvers": {"users": ["ann"]}})
        await world.start()
        say(world, approval="approved", approval_by="bob")
        await world.settle()
        assert state(world) == "Deferred"
        say(world, approval="approved", approval_by="ann")
        await world.settle()
        assert state(world) == "Scheduled"


async def test_approvers_in_the_kwargs_alone_fail_the_wait() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "approval", {"approvers": {"users": ["ann"]}}, trigger={"approvers": None})
        world.taskrun("b", "approval", {"approvers": {"users": ["ann"]}}, trigger={"approvers": {"users": ["eve"]}})
        await world.start()
        for name in ("a", "b"):
            assert world.state_and_reason(name) == ("Failed", "TriggerInvalid")
            assert "are not those of its trigger's kwargs" in world.status(name)["message"]


def test_a_trigger_with_approvers_is_made_again_as_it_was() -> None:
    given: dict[str, Any] = {"question": "Go?", "approvers": {"users": ["ann"], "groups": ["sre"]}}
    assert Approval(**given).serialize() == ("approval", given)
    with pytest.raises(ValueError, match="is empty"):
        Approval(approvers={"users": []})
