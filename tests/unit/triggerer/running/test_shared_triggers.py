"""One poke for many: waits that ask for the same share one running trigger, and nothing else."""

from base64 import b64encode
from collections.abc import AsyncIterator

import pytest
from torpor.triggers import Http, TriggerEvent, base
from torpor_kubernetes.client.resources import SECRETS, TASKRUNS
from torpor_wire.secret_ref import SecretRef

from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, answer, triggerer_fixture

SAME = {"does": "waits", "name": "same"}
PAGE = {"url": "http://host/done", "interval": 10}


def pokes(world: TriggererFixture) -> int:
    """How many triggers were begun."""
    return world.called("same").count("run")


async def test_a_hundred_equal_waits_are_one_request_an_interval_and_all_fire() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        for number in range(100):
            world.taskrun(f"r{number}", "http", PAGE)
        await world.start()
        await world.pass_time(100)
        assert 8 <= world.web.request_count <= 12
        world.web.answers = [answer(200, "yes")]
        await world.pass_time(12)
        assert {world.state_and_reason(f"r{number}")[0] for number in range(100)} == {"Scheduled"}
        assert {world.patches(f"r{number}") for number in range(100)} <= {1, 2, 3}


async def test_a_wait_joins_what_runs_and_leaves_it_running() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", kwargs=SAME)
        await world.start()
        world.taskrun("b", kwargs=SAME)
        await world.pass_time(1)
        world.fake.remove(TASKRUNS, NAMESPACE, "a")
        await world.pass_time(1)
        assert world.called("same") == ["run"]
        world.fake.remove(TASKRUNS, NAMESPACE, "b")
        await world.pass_time(1)
        assert world.called("same") == ["run", "cleanup"]


async def test_each_keeps_its_own_timeout() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("short", kwargs=SAME, timeout=10)
        world.taskrun("long", kwargs=SAME, timeout=50)
        world.taskrun("endless", kwargs=SAME)
        await world.start()
        await world.pass_time(11)
        assert [world.state_and_reason(name)[1] for name in ("short", "long", "endless")] == [
            "DeferralTimeout",
            None,
            None,
        ]
        await world.pass_time(40)
        assert [world.state_and_reason(name)[1] for name in ("long", "endless")] == ["DeferralTimeout", None]
        assert world.called("same") == ["run"]


async def test_who_is_cancelled_kills_nothing_that_others_wait_for() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", kwargs=SAME)
        world.taskrun("b", kwargs=SAME)
        await world.start()
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(1)
        assert world.state_and_reason("a")[0] == "Cancelled"
        assert world.state_and_reason("b")[0] == "Deferred"
        assert world.called("same") == ["run"]
        world.edit("b", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(1)
        assert world.state_and_reason("b")[0] == "Cancelled"
        assert world.called("same") == ["run", "on_kill", "cleanup"]


async def test_who_comes_after_the_event_gets_a_new_trigger() -> None:
    async with triggerer_fixture() as world:
        kwargs = {"does": "fires in a minute", "name": "same"}
        world.taskrun("a", kwargs=kwargs)
        await world.start()
        await world.pass_time(59)
        world.taskrun("joins", kwargs=kwargs)
        await world.pass_time(1.5)
        world.taskrun("later", kwargs=kwargs)
        await world.pass_time(50)
        assert [world.state_and_reason(name)[0] for name in ("a", "joins", "later")] == [
            "Scheduled",
            "Scheduled",
            "Deferred",
        ]
        await world.pass_time(10)
        assert world.state_and_reason("later")[0] == "Scheduled"
        assert pokes(world) == 2


async def test_a_failing_trigger_fails_all_its_waits_with_its_message() -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b"):
            world.taskrun(name, kwargs={"does": "says much and raises", "name": "same"})
        await world.start()
        await world.pass_time(1)
        assert pokes(world) == 1
        for name in ("a", "b"):
            status = world.status(name)
            assert status["reason"] == "TriggerFailed"
            assert "line 29 of same" in status["log"]
            assert "LookupError: no such row" in status["log"]


async def test_the_log_says_who_shares_what() -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b"):
            world.taskrun(name, kwargs={"does": "says much", "name": "same"})
        await world.start()
        await world.pass_time(1)
        output = world.log_output.getvalue()
        (shares,) = [line for line in output.splitlines() if "shares shared trigger" in line]
        assert f"[{NAMESPACE}/b a1 s0]" in shares
        assert f"[{NAMESPACE} shared trigger {world.status('a')['trigger']['key'][:8]}] line 29 of same" in output


async def test_the_log_says_of_each_whom_another_takes_along_and_in_its_own_name() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        for name, interval in (("a", 100), ("b", 100), ("often", 5)):
            world.taskrun(name, "http", {**PAGE, "interval": interval})
        await world.start()
        output = world.log_output.getvalue()
        assert [
            line
            for line in output.splitlines()
            if "shares shared trigger" in line and f"[{NAMESPACE}/often a1 s0]" in line
        ] == []
        assert output.count(f"[{NAMESPACE}/b a1 s0] shares shared trigger") == 2


async def test_a_class_may_say_that_its_waits_share_nothing() -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b"):
            world.taskrun(name, kwargs={"does": "is its own", "name": "same"})
        await world.start()
        assert pokes(world) == 2


async def test_other_kwargs_are_another_trigger() -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b"):
            world.taskrun(name, kwargs={"does": "waits", "name": "same", "day": name})
        await world.start()
        assert pokes(world) == 2


async def test_the_shortest_interval_of_shared_waits_applies_to_all() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        world.taskrun("seldom", "http", {**PAGE, "interval": 100})
        await world.start()
        await world.pass_time(150)
        seldom = world.web.request_count
        world.taskrun("often", "http", {**PAGE, "interval": 5})
        world.taskrun("seldom-too", "http", {**PAGE, "interval": 60})
        await world.pass_time(100)
        assert seldom <= 3
        assert 17 <= world.web.request_count - seldom <= 24
        world.web.answers = [answer(200)]
        await world.pass_time(6)
        assert [world.state_and_reason(name)[0] for name in ("seldom", "often", "seldom-too")] == ["Scheduled"] * 3


async def test_a_trigger_that_ignores_its_stop_does_not_hold_new_waits() -> None:
    async with triggerer_fixture() as world:
        kwargs = {"does": "ignores its cancellation", "name": "same"}
        world.taskrun("a", kwargs=kwargs, timeout=5)
        await world.start()
        await world.pass_time(6)
        world.taskrun("b", kwargs=kwargs)
        await world.pass_time(1)
        assert pokes(world) == 2
        await world.pass_time(60)
        assert world.state_and_reason("a")[1] == "DeferralTimeout"
        assert world.state_and_reason("b")[0] == "Deferred"


async def test_waits_of_the_same_secret_share_until_it_changes() -> None:
    async with triggerer_fixture() as world:
        world.secret("login", token="first")
        kwargs = {**SAME, "token": SecretRef("login", "token").written()}
        world.readers.add(("torpor-task", "login"))
        for name in ("a", "b"):
            world.taskrun(name, kwargs=kwargs)
        await world.start()
        await world.pass_time(1)
        assert pokes(world) == 1
        world.fake.edit(SECRETS, NAMESPACE, "login", {"data": {"token": b64encode(b"second").decode()}})
        await world.pass_time(600)
        world.taskrun("c", kwargs=kwargs)
        await world.pass_time(10)
        assert pokes(world) == 2


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_another_replica_goes_on_with_all_of_them(how: str) -> None:
    async with triggerer_fixture() as world:
        for name in ("a", "b", "c"):
            world.taskrun(name, kwargs={"does": "fires in a minute", "name": "same"})
        await world.start("one")
        await world.start("two")
        await world.pass_time(5)
        for name in ("one", "two"):
            if how == "stop":
                await world.stop(name)
            else:
                await world.crash(name)
            break
        await world.pass_time(120)
        assert {world.state_and_reason(name)[0] for name in ("a", "b", "c")} == {"Scheduled"}
        assert {world.status(name)["segment"] for name in ("a", "b", "c")} == {1}


class Posts:
    """As Airflow's HttpTrigger: no base class of Torpor's, and it sends a request with an effect."""

    sent = 0

    def __init__(self, **_: object) -> None: ...

    async def run(self) -> AsyncIterator[TriggerEvent]:
        type(self).sent += 1
        yield TriggerEvent("posted")


class OwnHttp(Http):
    """Of a user: what it inherits is not its own word."""


class SaysSo(Posts):
    """Of a user who knows that it may be shared."""

    shareable = True


@pytest.mark.parametrize(("class_", "sent"), [(Posts, 2), (SaysSo, 1)])
async def test_a_user_class_runs_once_for_each_taskrun_unless_it_is_shareable(class_: type[Posts], sent: int) -> None:
    class_.sent = 0
    async with triggerer_fixture() as world:
        world.taskrun("a", "posts", {"endpoint": "/order"})
        world.taskrun("b", "posts", {"endpoint": "/order"})
        world.classes["posts"] = class_
        await world.start()
        await world.pass_time(1)
        assert class_.sent == sent
        assert [world.state_and_reason(name)[0] for name in "ab"] == ["Scheduled"] * 2


def test_a_subclass_of_a_torpor_trigger_does_not_inherit_shareable() -> None:
    assert base.is_shareable(Http("http://x"))
    assert not base.is_shareable(OwnHttp("http://x"))
    assert not base.is_shareable(Posts())
    assert base.is_shareable(SaysSo())


async def test_two_waits_for_the_same_post_make_two_requests_an_interval() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(200, "taken")]
        for name in ("a", "b"):
            world.taskrun(name, "http", {"url": "http://host/order", "method": "POST"})
        await world.start()
        await world.pass_time(1)
        assert world.web.request_count == 2


async def test_several_triggers_are_shared_only_where_each_of_them_may_be() -> None:
    parts = [{"class": "http", "kwargs": {"url": "http://host/x"}}, {"class": "posts", "kwargs": {}}]
    Posts.sent = 0
    async with triggerer_fixture() as world:
        world.classes["posts"] = Posts
        world.taskrun("a", "any_of", {"triggers": parts})
        world.taskrun("b", "any_of", {"triggers": parts})
        await world.start()
        await world.pass_time(1)
        assert Posts.sent == 2
