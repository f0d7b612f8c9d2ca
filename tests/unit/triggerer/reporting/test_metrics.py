"""What `/metrics` says of a replica, and that it says it all and no more."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from torpor_triggerer.reporting.metrics import TriggererMetrics

from tests.support.triggerer_fixture import answer, triggerer_fixture

Labels = dict[str, str]


def read(metrics: TriggererMetrics, name: str, **labels: str) -> float:
    """The one sample of that name with these labels; 0 where there is none."""
    matching = [
        sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert len(matching) <= 1, matching
    return matching[0] if matching else 0.0


async def test_each_class_has_its_own_count_of_what_runs_and_of_what_came_of_it() -> None:
    async with triggerer_fixture() as world:
        replica = await world.start()
        world.taskrun("waits")
        world.taskrun("soon", "duration", {"duration": "5s"})
        world.taskrun("fails", kwargs={"does": "raises", "name": "fails"})
        await world.settle()
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "odd"}) == 1
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "time"}) == 1
        await world.pass_time(6)
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "time"}) == 0
        assert read(replica.metrics, "torpor_triggers_fired_total", **{"class": "time", "pool": "default"}) == 1
        assert read(replica.metrics, "torpor_triggers_failed_total", reason="TriggerFailed") == 1


async def test_an_outcome_that_another_replica_wrote_first_counts_as_lost() -> None:
    async with triggerer_fixture() as world:
        replica = await world.start()
        world.taskrun("soon", "duration", {"duration": "5s"})
        await world.settle()
        world.fake.hold_watches()
        world.edit("soon", segment=1)
        await world.pass_time(6)
        assert read(replica.metrics, "torpor_triggers_lost_total") == 1
        assert read(replica.metrics, "torpor_triggers_fired_total") == 0


async def test_of_waits_that_share_a_trigger_all_but_one_are_shared() -> None:
    async with triggerer_fixture() as world:
        replica = await world.start()
        world.web.answers = [answer(404)]
        for number in range(5):
            world.taskrun(f"t{number}", "http", {"url": "http://here/"})
        world.taskrun("other", "http", {"url": "http://there/"})
        await world.settle()
        assert read(replica.metrics, "torpor_triggers_running", **{"class": "http"}) == 6
        assert read(replica.metrics, "torpor_triggers_shared", **{"class": "http"}) == 4


@pytest.mark.parametrize(
    ("class_name", "kwargs"), [("duration", {"duration": "5s"}), ("odd", {"does": "fires in a minute"})]
)
async def test_fire_delay_is_from_the_due_time_to_the_write(class_name: str, kwargs: Labels) -> None:
    async with triggerer_fixture(latency=0.3) as world:
        replica = await world.start()
        await world.pass_time(5)
        world.taskrun("soon", class_name, kwargs | ({"name": "soon"} if class_name == "odd" else {}))
        await world.pass_time(70)
        assert read(replica.metrics, "torpor_fire_lateness_seconds_count") == 1
        assert 0.3 <= read(replica.metrics, "torpor_fire_lateness_seconds_sum") < 1


async def test_what_strangers_call_their_classes_makes_no_labels() -> None:
    async with triggerer_fixture() as world:
        replica = await world.start()
        for number in range(30):
            world.taskrun(f"t{number}", f"no.such.Class{number}", {})
        await world.settle()
        await world.pass_time(1)
        text = replica.metrics.text().decode()
        assert "no.such" not in text
        assert read(replica.metrics, "torpor_triggers_failed_total", reason="TriggerUnknown") == 30


async def test_a_replica_says_what_it_owns_and_how_often_it_began_to_watch_again() -> None:
    async with triggerer_fixture(capacity=7) as world:
        replica = await world.start("one")
        two = await world.start("two")
        await world.pass_time(3)
        assert read(replica.metrics, "torpor_members") == read(two.metrics, "torpor_members") == 2
        assert read(replica.metrics, "torpor_shards_owned") + read(two.metrics, "torpor_shards_owned") == 256
        assert read(replica.metrics, "torpor_capacity") == 7
        before = read(replica.metrics, "torpor_watch_restarts_total")
        world.fake.compact()
        world.fake.end_watches()
        await world.pass_time(30)
        assert read(replica.metrics, "torpor_watch_restarts_total") > before


def test_a_label_from_outside_cannot_break_the_text() -> None:
    metrics = TriggererMetrics("default", ['a"b\n'])
    metrics.blocked('a"b\n')
    metrics.blocked("other")
    assert read(metrics, "torpor_loop_blocked_total", **{"class": 'a"b\n'}) == 1
    assert read(metrics, "torpor_loop_blocked_total", **{"class": "unregistered"}) == 1
