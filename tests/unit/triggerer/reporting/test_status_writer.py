"""One replica: how the outcome of a wait is written, and how many at a time."""

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture


async def test_a_write_is_repeated_while_the_server_is_unavailable() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "1s"})
        world.fake.inject(Fault(status=503, method="PATCH", path="/status", times=5))
        await world.pass_time(60)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.status("a")["segment"] == 1


async def test_writes_that_failed_together_are_not_tried_again_together() -> None:
    async with triggerer_fixture() as world:
        for number in range(10):
            world.taskrun(f"t{number}", "duration", {"duration": "1s"})
        await world.start()
        world.fake.inject(Fault(status=503, method="PATCH", path="/status", times=10))
        moments: list[float] = []
        world.fake.on_write = lambda request: moments.append(world.now) if request.path.endswith("/status") else None
        await world.pass_time(60)
        assert {world.state_and_reason(f"t{number}")[0] for number in range(10)} == {"Scheduled"}
        assert len(set(moments[:10])) == 1
        assert len(set(moments[10:])) == 10


async def test_a_write_whose_answer_was_lost_is_not_carried_out_twice() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "1s"})
        world.fake.inject(Fault(commit=True, method="PATCH", path="/status"))
        await world.pass_time(60)
        assert world.status("a")["segment"] == 1


async def test_a_lost_race_is_left_alone() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "1s"})
        world.fake.hold_watches()
        world.edit("a", state="Scheduled", segment=1, trigger=None)
        await world.pass_time(5)
        assert world.patches("a") == 1
        assert world.events("a") == []
        world.fake.release_watches()
        await world.pass_time(5)
        assert world.patches("a") == 1


async def test_a_forbidden_write_is_reported_once_and_retried_with_backoff() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "1s"})
        world.fake.inject(Fault(status=403, method="PATCH", path="/status", message="no such right", times=7))
        await world.pass_time(5)
        assert world.events("a") == [("ReportRefused", "the triggerer may not write the outcome: no such right")]
        assert 2 <= world.patches("a") <= 4
        await world.pass_time(180)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.patches("a") == 8
        notes = [write.body["note"] for write in world.fake.writes() if write.path.endswith("/events")]
        assert sum("may not write the outcome" in note for note in notes) == 1


async def test_an_outcome_that_the_server_refuses_fails_the_taskrun_for_good() -> None:
    async with triggerer_fixture() as world:
        retried = {"python": "m:f", "retries": {"limit": 3}}
        await start_with_wait(world, "a", "duration", {"duration": "1s"}, spec=retried)
        world.fake.inject(Fault(status=422, method="PATCH", path="/status", message="event: too long", causes=True))
        await world.pass_time(5)
        assert world.state_and_reason("a") == ("Failed", "ReportRefused")
        assert "event: too long" in world.status("a")["message"]


async def test_many_that_are_due_at_once_are_written_side_by_side_and_bounded() -> None:
    async with triggerer_fixture(latency=1.0, concurrency=80) as world:
        for number in range(200):
            world.taskrun(f"t{number}", "duration", {"duration": "30s"})
        await world.start()
        await world.pass_time(29)
        before = len(world.fake.requests)
        await world.pass_time(1.5)
        assert sum(1 for request in world.fake.requests[before:] if request.path.endswith("/status")) == 66
        await world.pass_time(10)
        assert {world.state_and_reason(f"t{number}")[0] for number in range(200)} == {"Scheduled"}


async def test_hundreds_of_failing_writes_send_no_more_requests_than_a_few() -> None:
    async with triggerer_fixture(concurrency=8) as world:
        for number in range(400):
            world.taskrun(f"t{number}", "duration", {"duration": "5s"})
        await world.start()
        world.fake.inject(Fault(status=503, method="PATCH", path="/status", times=1_000_000))
        await world.pass_time(65)
        patches = sum(world.patches(f"t{number}") for number in range(400))
        assert patches <= 400 + 8 * 60 / 2.5 + 2 * 8
        world.fake._faults.clear()
        await world.pass_time(90)
        assert {world.state_and_reason(f"t{number}")[0] for number in range(400)} == {"Scheduled"}


async def test_failing_writes_do_not_delay_others() -> None:
    async with triggerer_fixture(concurrency=4) as world:
        for number in range(40):
            world.taskrun(f"bad{number}", "duration", {"duration": "5s"})
        for number in range(40):
            world.taskrun(f"good{number}", "duration", {"duration": "10s"})
        await world.start()
        world.fake.inject(Fault(status=500, method="PATCH", path="/bad", times=1_000_000))
        await world.pass_time(40)
        assert {world.state_and_reason(f"good{number}")[0] for number in range(40)} == {"Scheduled"}
        assert {world.state_and_reason(f"bad{number}")[0] for number in range(40)} == {"Deferred"}
