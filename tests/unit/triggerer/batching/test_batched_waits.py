"""One replica: TaskRuns that wait for one source are polled together, from deferral to fire."""

from typing import Any

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire.secret_ref import SecretRef

from tests.support.triggerer_fixture import TriggererFixture, answer, triggerer_fixture

SECRET = "Bearer hunter2-hunter2"
REFERENCE = SecretRef("api", "header").written()
JOBS = {str(number): "busy" for number in range(50)}


def job(world: TriggererFixture, number: int, **given: Any) -> None:
    """A TaskRun that waits for a job of a list that all look at."""
    headers = {"Authorization": REFERENCE} if given.pop("secret", False) else {}
    kwargs = {
        "url": "http://x/jobs",
        "body_condition": f"response.json['{number}'] == 'done'",
        "interval": "10s",
        "headers": headers,
    }
    world.taskrun(f"r{number}", "http", kwargs, **given)


def states(world: TriggererFixture) -> dict[str, int]:
    counts: dict[str, int] = {}
    for taskrun in world.fake.all(TASKRUNS):
        state = taskrun["status"]["state"]
        counts[state] = counts.get(state, 0) + 1
    return counts


async def test_fifty_taskruns_share_one_request_and_fire_by_their_own_conditions() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(body=JOBS)]
        for number in range(50):
            job(world, number)
        await world.start()
        assert world.web.request_count <= 2
        await world.pass_time(30.5)
        requests = world.web.request_count
        assert requests <= 5
        world.web.answers = [answer(body=JOBS | {"7": "done", "8": "done"})]
        await world.pass_time(11)
        assert states(world) == {"Deferred": 48, "Scheduled": 2}
        assert world.state_and_reason("r7") == ("Scheduled", None)
        assert world.web.request_count == requests + 1


async def test_each_keeps_its_own_deadline_and_says_itself_what_was_found() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(body=JOBS)]
        job(world, 1, timeout=25)
        job(world, 2)
        await world.start()
        await world.pass_time(26)
        assert world.state_and_reason("r1") == ("Failed", "DeferralTimeout")
        assert "answered 200; body_condition is false" in world.status("r1")["message"]
        assert world.state_and_reason("r2")[0] == "Deferred"
        await world.pass_time(60)
        assert "body_condition is false" in world.status("r2")["message"]


async def test_accounts_do_not_share_and_what_one_may_read_is_shown_nowhere() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [OSError(f"no route with {SECRET}")]
        world.secret("api", header=SECRET)
        world.readers |= {("one", "api"), ("two", "api")}
        for number, account in enumerate(["one", "one", "two", "two"]):
            spec = {"python": "m:f", "image": "i", "serviceAccount": account}
            job(world, number, secret=True, account=account, spec=spec)
        await world.start()
        await world.pass_time(1)
        assert world.web.request_count == 2
        await world.pass_time(100)
        assert "no route" in world.status("r0")["message"]
        assert "hunter2" not in world.log_output.getvalue() + str([request.body for request in world.fake.requests])


async def test_a_wait_that_can_never_be_judged_fails_and_the_others_do_not_notice() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(body=JOBS | {"1": "done"})]
        world.taskrun("bad", "http", {"url": "http://x/jobs", "body_condition": "response.json['1']"})
        job(world, 1)
        job(world, 2)
        await world.start()
        await world.pass_time(1)
        assert world.state_and_reason("bad")[1] == "TriggerFailed"
        assert world.state_and_reason("r1") == ("Scheduled", None)
        assert world.state_and_reason("r2")[0] == "Deferred"
