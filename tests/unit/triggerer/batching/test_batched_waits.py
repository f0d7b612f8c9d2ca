"""One replica: TaskRuns that look at one thing are asked for together, from deferral to fire."""

from typing import Any

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire.secret_ref import SecretRef

from tests.support.triggerer_world import World, answer, world

SECRET = "Bearer hunter2-hunter2"
REFERENCE = SecretRef("api", "header").written()
JOBS = {str(number): "busy" for number in range(50)}


def job(made: World, number: int, **given: Any) -> None:
    """A TaskRun that waits for a job of a list that all look at."""
    headers = {"Authorization": REFERENCE} if given.pop("secret", False) else {}
    kwargs = {
        "url": "http://x/jobs",
        "body_condition": f"response.json['{number}'] == 'done'",
        "interval": "10s",
        "headers": headers,
    }
    made.taskrun(f"r{number}", "http", kwargs, **given)


def states(made: World) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in made.fake.all(TASKRUNS):
        state = one["status"]["state"]
        found[state] = found.get(state, 0) + 1
    return found


async def test_fifty_taskruns_share_one_request_and_fire_by_their_own_conditions() -> None:
    async with world() as made:
        made.web.answers = [answer(body=JOBS)]
        for number in range(50):
            job(made, number)
        await made.start()
        assert made.web.asked <= 2
        await made.pass_time(30.5)
        asked = made.web.asked
        assert asked <= 5
        made.web.answers = [answer(body=JOBS | {"7": "done", "8": "done"})]
        await made.pass_time(11)
        assert states(made) == {"Deferred": 48, "Scheduled": 2}
        assert made.stands("r7") == ("Scheduled", None)
        assert made.web.asked == asked + 1


async def test_each_keeps_its_own_deadline_and_says_itself_what_was_found() -> None:
    async with world() as made:
        made.web.answers = [answer(body=JOBS)]
        job(made, 1, timeout=25)
        job(made, 2)
        await made.start()
        await made.pass_time(26)
        assert made.stands("r1") == ("Failed", "DeferralTimeout")
        assert "answered 200; body_condition is false" in made.status("r1")["message"]
        assert made.stands("r2")[0] == "Deferred"
        await made.pass_time(60)
        assert "body_condition is false" in made.status("r2")["message"]


async def test_accounts_do_not_share_and_what_one_may_read_is_shown_nowhere() -> None:
    async with world() as made:
        made.web.answers = [OSError(f"no route with {SECRET}")]
        made.secret("api", header=SECRET)
        made.readers |= {("one", "api"), ("two", "api")}
        for number, account in enumerate(["one", "one", "two", "two"]):
            spec = {"python": "m:f", "image": "i", "serviceAccount": account}
            job(made, number, secret=True, account=account, spec=spec)
        await made.start()
        await made.pass_time(1)
        assert made.web.asked == 2
        await made.pass_time(100)
        assert "no route" in made.status("r0")["message"]
        assert "hunter2" not in made.said.getvalue() + str([one.body for one in made.fake.requests])


async def test_a_wait_that_can_never_be_judged_fails_and_the_others_do_not_notice() -> None:
    async with world() as made:
        made.web.answers = [answer(body=JOBS | {"1": "done"})]
        made.taskrun("bad", "http", {"url": "http://x/jobs", "body_condition": "response.json['1']"})
        job(made, 1)
        job(made, 2)
        await made.start()
        await made.pass_time(1)
        assert made.stands("bad")[1] == "TriggerFailed"
        assert made.stands("r1") == ("Scheduled", None)
        assert made.stands("r2")[0] == "Deferred"
