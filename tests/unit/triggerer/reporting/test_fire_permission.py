"""One replica: a trigger runs only where the pool may fire."""

from torpor_kubernetes.client.resources import EVENTS, TASKRUNS
from torpor_triggerer.reporting.fire_permission import ALLOWED_SECONDS

from tests.support.fake_api import Fault
from tests.support.triggerer_world import NAMESPACE, World, begun, world


def told(made: World) -> list[str]:
    return [one["note"] for one in made.fake.all(EVENTS) if one["reason"] == "FireForbidden"]


async def test_a_trigger_does_not_even_begin_where_the_pool_may_not_fire() -> None:
    async with world() as made:
        made.fake.may_fire = lambda _: False
        await begun(made, "a")
        await made.pass_time(30)
        assert (made.called("a"), made.given, made.status("a")["state"]) == ([], [], "Deferred")
        (note,) = told(made)
        assert "the triggerers of pool default may not fire in namespace workflows" in note
        assert "create rolebinding torpor-triggerer-pool-default" in note


async def test_a_right_that_comes_later_is_noticed() -> None:
    async with world() as made:
        made.fake.may_fire = lambda _: False
        await begun(made, "a")
        await made.pass_time(30)
        made.fake.may_fire = lambda _: True
        await made.pass_time(62)
        assert made.called("a") == ["run"]


async def test_a_denial_of_a_starting_server_is_not_reported() -> None:
    async with world() as made:
        made.fake.may_fire = lambda _: len(made.fake.reviews) > 2
        await begun(made, "a")
        await made.pass_time(10)
        assert (made.called("a"), told(made)) == (["run"], [])


async def test_many_waits_of_a_denied_namespace_ask_no_more_often_than_one() -> None:
    async with world() as made:
        made.fake.may_fire = lambda _: False
        for number in range(50):
            made.taskrun(f"a{number}")
        await made.start()
        await made.pass_time(600)
        assert 5 < len(made.fake.reviews) < 20
        assert len(told(made)) == 50


async def test_an_answer_serves_all_waits_of_the_namespace_for_a_bounded_time() -> None:
    async with world() as made:
        for number in range(50):
            made.taskrun(f"a{number}")
        await made.start()
        assert made.fake.reviews == [NAMESPACE]
        await made.pass_time(ALLOWED_SECONDS + 1)
        made.taskrun("later")
        await made.rest()
        assert made.fake.reviews == [NAMESPACE] * 2


async def test_a_namespace_that_is_denied_holds_up_no_other() -> None:
    async with world() as made:
        made.fake.may_fire = lambda namespace: namespace == NAMESPACE
        made.taskrun("theirs", namespace="elsewhere")
        await begun(made, "a")
        assert made.called("a") == ["run"]
        await made.pass_time(10)
        assert made.called("theirs") == []


async def test_an_unforeseen_error_fails_its_wait_and_no_other() -> None:
    def may_fire(namespace: str) -> bool:
        if namespace != NAMESPACE:
            raise RuntimeError("a bug")
        return True

    async with world() as made:
        made.fake.may_fire = may_fire
        made.taskrun("theirs", namespace="elsewhere")
        await begun(made, "a")
        await made.rest()
        assert made.called("a") == ["run"]
        (theirs,) = [one for one in made.fake.all(TASKRUNS) if one["metadata"]["name"] == "theirs"]
        assert (theirs["status"]["state"], theirs["status"]["reason"]) == ("Failed", "TriggerFailed")
        assert "RuntimeError: a bug" in theirs["status"]["message"]


async def test_an_unanswered_review_is_repeated_and_no_trigger_runs_meanwhile() -> None:
    async with world() as made:
        made.fake.inject(Fault(status=503, method="POST", path="/selfsubjectaccessreviews", times=12))
        await begun(made, "a")
        assert made.called("a") == []
        await made.pass_time(600)
        assert (made.called("a"), told(made)) == (["run"], [])


async def test_a_wait_that_ends_while_it_may_not_run_is_let_go() -> None:
    async with world() as made:
        made.fake.may_fire = lambda _: False
        made.taskrun("a", timeout=20)
        made.taskrun("b")
        await made.start()
        await made.pass_time(5)
        made.edit("b", cancel="2023-11-14T22:13:20Z")
        await made.pass_time(20)
        assert made.stands("a") == ("Failed", "DeferralTimeout")
        assert "may not fire" in made.status("a")["message"]
        assert made.stands("b") == ("Cancelled", "Cancelled")
        assert made.given == []
