"""One replica: a trigger runs only where the pool may fire."""

from torpor_kubernetes.client.resources import EVENTS, TASKRUNS
from torpor_triggerer.reporting.fire_permission import ALLOWED_SECONDS

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, start_with_wait, triggerer_fixture


def denials(world: TriggererFixture) -> list[str]:
    return [event["note"] for event in world.fake.all(EVENTS) if event["reason"] == "FireForbidden"]


async def test_a_trigger_does_not_even_begin_where_the_pool_may_not_fire() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda _: False
        await start_with_wait(world, "a")
        await world.pass_time(30)
        assert (world.called("a"), world.trigger_kwargs, world.status("a")["state"]) == ([], [], "Deferred")
        (note,) = denials(world)
        assert "the triggerers of pool default may not fire in namespace workflows" in note
        assert "create rolebinding torpor-triggerer-pool-default" in note


async def test_a_right_that_comes_later_is_noticed() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda _: False
        await start_with_wait(world, "a")
        await world.pass_time(30)
        world.fake.may_fire = lambda _: True
        await world.pass_time(62)
        assert world.called("a") == ["run"]


async def test_a_denial_of_a_starting_server_is_not_reported() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda _: len(world.fake.reviews) > 2
        await start_with_wait(world, "a")
        await world.pass_time(10)
        assert (world.called("a"), denials(world)) == (["run"], [])


async def test_many_waits_of_a_denied_namespace_ask_no_more_often_than_one() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda _: False
        for number in range(50):
            world.taskrun(f"a{number}")
        await world.start()
        await world.pass_time(600)
        assert 5 < len(world.fake.reviews) < 20
        assert len(denials(world)) == 50


async def test_an_answer_serves_all_waits_of_the_namespace_for_a_bounded_time() -> None:
    async with triggerer_fixture() as world:
        for number in range(50):
            world.taskrun(f"a{number}")
        await world.start()
        assert world.fake.reviews == [NAMESPACE]
        await world.pass_time(ALLOWED_SECONDS + 1)
        world.taskrun("later")
        await world.settle()
        assert world.fake.reviews == [NAMESPACE] * 2


async def test_a_namespace_that_is_denied_holds_up_no_other() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda namespace: namespace == NAMESPACE
        world.taskrun("theirs", namespace="elsewhere")
        await start_with_wait(world, "a")
        assert world.called("a") == ["run"]
        await world.pass_time(10)
        assert world.called("theirs") == []


async def test_an_unforeseen_error_fails_its_wait_and_no_other() -> None:
    def may_fire(namespace: str) -> bool:
        if namespace != NAMESPACE:
            raise RuntimeError("a bug")
        return True

    async with triggerer_fixture() as world:
        world.fake.may_fire = may_fire
        world.taskrun("theirs", namespace="elsewhere")
        await start_with_wait(world, "a")
        await world.settle()
        assert world.called("a") == ["run"]
        (theirs,) = [taskrun for taskrun in world.fake.all(TASKRUNS) if taskrun["metadata"]["name"] == "theirs"]
        assert (theirs["status"]["state"], theirs["status"]["reason"]) == ("Failed", "TriggerFailed")
        assert "RuntimeError: a bug" in theirs["status"]["message"]


async def test_an_unanswered_review_is_repeated_and_no_trigger_runs_meanwhile() -> None:
    async with triggerer_fixture() as world:
        world.fake.inject(Fault(status=503, method="POST", path="/selfsubjectaccessreviews", times=12))
        await start_with_wait(world, "a")
        assert world.called("a") == []
        await world.pass_time(600)
        assert (world.called("a"), denials(world)) == (["run"], [])


async def test_a_wait_that_ends_while_it_may_not_run_is_let_go() -> None:
    async with triggerer_fixture() as world:
        world.fake.may_fire = lambda _: False
        world.taskrun("a", timeout=20)
        world.taskrun("b")
        await world.start()
        await world.pass_time(5)
        world.edit("b", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(20)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert "may not fire" in world.status("a")["message"]
        assert world.state_and_reason("b") == ("Cancelled", "Cancelled")
        assert world.trigger_kwargs == []
