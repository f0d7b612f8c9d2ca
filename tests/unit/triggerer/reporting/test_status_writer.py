"""One replica: how the outcome of a wait is written, and how many at a time."""

from tests.support.fake_api import Fault
from tests.support.triggerer_world import begun, world


async def test_a_write_is_repeated_while_the_server_is_unavailable() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(status=503, method="PATCH", path="/status", times=5))
        await made.pass_time(60)
        assert made.stands("a") == ("Scheduled", None)
        assert made.status("a")["segment"] == 1


async def test_writes_that_failed_together_are_not_tried_again_together() -> None:
    async with world() as made:
        for number in range(10):
            made.taskrun(f"t{number}", "duration", {"duration": "1s"})
        await made.start()
        made.fake.inject(Fault(status=503, method="PATCH", path="/status", times=10))
        moments: list[float] = []
        made.fake.on_write = lambda one: moments.append(made.now) if one.path.endswith("/status") else None
        await made.pass_time(60)
        assert {made.stands(f"t{number}")[0] for number in range(10)} == {"Scheduled"}
        assert len(set(moments[:10])) == 1
        assert len(set(moments[10:])) == 10


async def test_a_write_whose_answer_was_lost_is_not_carried_out_twice() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(commit=True, method="PATCH", path="/status"))
        await made.pass_time(60)
        assert made.status("a")["segment"] == 1


async def test_a_lost_race_is_left_alone() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.hold_watches()
        made.edit("a", state="Scheduled", segment=1, trigger=None)
        await made.pass_time(5)
        assert made.patches("a") == 1
        assert made.events("a") == []
        made.fake.release_watches()
        await made.pass_time(5)
        assert made.patches("a") == 1


async def test_a_forbidden_write_is_reported_once_and_retried_with_backoff() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(status=403, method="PATCH", path="/status", message="no such right", times=7))
        await made.pass_time(5)
        assert made.events("a") == [("ReportRefused", "the triggerer may not write the outcome: no such right")]
        assert 2 <= made.patches("a") <= 4
        await made.pass_time(180)
        assert made.stands("a") == ("Scheduled", None)
        assert made.patches("a") == 8
        told = [one.body["note"] for one in made.fake.writes() if one.path.endswith("/events")]
        assert sum("may not write the outcome" in note for note in told) == 1


async def test_an_outcome_that_the_server_refuses_fails_the_taskrun_for_good() -> None:
    async with world() as made:
        retried = {"python": "m:f", "retries": {"limit": 3}}
        await begun(made, "a", "duration", {"duration": "1s"}, spec=retried)
        made.fake.inject(Fault(status=422, method="PATCH", path="/status", message="event: too long", causes=True))
        await made.pass_time(5)
        assert made.stands("a") == ("Failed", "ReportRefused")
        assert "event: too long" in made.status("a")["message"]


async def test_many_that_are_due_at_once_are_written_side_by_side_and_bounded() -> None:
    async with world(latency=1.0, concurrency=80) as made:
        for number in range(200):
            made.taskrun(f"t{number}", "duration", {"duration": "30s"})
        await made.start()
        await made.pass_time(29)
        before = len(made.fake.requests)
        await made.pass_time(1.5)
        assert sum(1 for one in made.fake.requests[before:] if one.path.endswith("/status")) == 66
        await made.pass_time(10)
        assert {made.stands(f"t{number}")[0] for number in range(200)} == {"Scheduled"}


async def test_hundreds_of_failing_writes_send_no_more_requests_than_a_few() -> None:
    async with world(concurrency=8) as made:
        for number in range(400):
            made.taskrun(f"t{number}", "duration", {"duration": "5s"})
        await made.start()
        made.fake.inject(Fault(status=503, method="PATCH", path="/status", times=1_000_000))
        await made.pass_time(65)
        asked = sum(made.patches(f"t{number}") for number in range(400))
        assert asked <= 400 + 8 * 60 / 2.5 + 2 * 8
        made.fake._faults.clear()
        await made.pass_time(90)
        assert {made.stands(f"t{number}")[0] for number in range(400)} == {"Scheduled"}


async def test_failing_writes_do_not_delay_others() -> None:
    async with world(concurrency=4) as made:
        for number in range(40):
            made.taskrun(f"bad{number}", "duration", {"duration": "5s"})
        for number in range(40):
            made.taskrun(f"good{number}", "duration", {"duration": "10s"})
        await made.start()
        made.fake.inject(Fault(status=500, method="PATCH", path="/bad", times=1_000_000))
        await made.pass_time(40)
        assert {made.stands(f"good{number}")[0] for number in range(40)} == {"Scheduled"}
        assert {made.stands(f"bad{number}")[0] for number in range(40)} == {"Deferred"}
