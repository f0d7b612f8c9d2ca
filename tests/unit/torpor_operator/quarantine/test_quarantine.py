"""The quarantine is kept on the Lease, reported on the object, and left by a good pass after an hour."""

from dataclasses import replace

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.resources import EVENTS, LEASES, WORKFLOWS
from torpor_kubernetes.fairness.event_limits import EventLimits
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.quarantine.lease_annotation import LeaseAnnotation
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.quarantine import Quarantine
from torpor_operator.quarantine.work_guard import QuarantinedError, WorkGuard
from torpor_operator.quarantine.work_journal import WorkJournal, encode
from torpor_operator.quarantine.work_tracker import WorkTracker
from torpor_operator.settings import Settings

from tests.support.fake_api import FakeApi, VirtualClock

KEY = "torpor.dev/quarantine"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fake(clock: VirtualClock) -> FakeApi:
    fake = FakeApi(clock)
    fake.put(LEASES, {"metadata": {"name": "torpor-operator", "namespace": "torpor-system"}, "spec": {}})
    fake.put(WORKFLOWS, {"metadata": {"name": "bad", "namespace": "team"}, "spec": {}})
    return fake


@pytest.fixture
def ref(fake: FakeApi) -> ObjectRef:
    workflow = fake.get(WORKFLOWS, "team", "bad")
    assert workflow is not None
    return ObjectRef("Workflow", "team", "bad", workflow["metadata"]["uid"])


def quarantine(fake: FakeApi, clock: VirtualClock, ended_at: ObjectRef | None = None) -> Quarantine:
    api = Api(fake, clock)
    annotation = LeaseAnnotation(api, "torpor-system", "torpor-operator")
    return Quarantine(api, annotation, WriteLimits.build(api, Settings()).events, ended_at=ended_at)


def annotation(fake: FakeApi) -> str:
    lease = fake.get(LEASES, "torpor-system", "torpor-operator")
    assert lease is not None
    return str(lease["metadata"].get("annotations", {}).get(KEY, ""))


async def no_pass() -> float | None:
    raise AssertionError("the object is in quarantine")


async def test_the_next_leader_knows_where_the_former_one_ended(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    await quarantine(fake, clock, ended_at=ref).load()
    assert "bad" in annotation(fake)
    next_leader = quarantine(fake, clock)
    await next_leader.load()
    hold = next_leader.hold(ref)
    assert hold is not None
    assert hold.deaths == 1


async def test_each_end_at_an_object_counts(fake: FakeApi, clock: VirtualClock, ref: ObjectRef) -> None:
    for deaths in (1, 2, 3):
        restarted = quarantine(fake, clock, ended_at=ref)
        await restarted.load()
        await restarted.load()  # as when it becomes the leader
        hold = restarted.hold(ref)
        assert hold is not None
        assert hold.deaths == deaths


async def test_a_record_that_is_stored_counts_once(fake: FakeApi, clock: VirtualClock, ref: ObjectRef) -> None:
    journal = WorkJournal()
    journal.replace(encode(ref))
    for _ in range(2):  # the second process ends before it works on anything
        held = quarantine(fake, clock, ended_at=journal.read())
        await WorkGuard(WorkTracker(journal), held).load()
    hold = held.hold(ref)
    assert hold is not None
    assert hold.deaths == 1


async def test_an_object_in_quarantine_is_reported_once_and_not_worked_on(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    held = quarantine(fake, clock, ended_at=ref)
    guard = WorkGuard(quarantine=held)
    await guard.load()
    for _ in range(3):
        due = await guard.reconcile(WORKFLOWS, ref, no_pass)
        assert due == pytest.approx(clock.now() + 10, abs=1)
    workflow = fake.get(WORKFLOWS, "team", "bad")
    assert workflow is not None
    (condition,) = workflow["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Quarantined", "True", "OperatorEnded")
    assert "ended once while it worked on this Workflow" in condition["message"]
    assert [event["reason"] for event in fake.all(EVENTS)] == ["OperatorEnded"]


async def test_reports_of_a_quarantine_stay_within_the_limits_of_events(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    api = Api(fake, clock)
    poster = EventPoster(api, EventLimits(rate=0.001, burst=2))
    held = Quarantine(api, LeaseAnnotation(api, "torpor-system", "torpor-operator"), poster, ended_at=ref)
    await held.load()
    hold = held.hold(ref)
    assert hold is not None
    for delay in range(5):
        await held.report(WORKFLOWS, ref, replace(hold, until=hold.until + delay))
    assert len(fake.all(EVENTS)) == 2
    assert poster.dropped == 3


async def test_an_object_leaves_the_quarantine_by_a_good_pass_after_an_hour(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    guard = WorkGuard(quarantine=quarantine(fake, clock, ended_at=ref))
    await guard.load()
    await clock.advance(11)

    async def fails() -> float | None:
        raise ValueError("on purpose")

    async def succeeds() -> float | None:
        return 7.0

    with pytest.raises(ValueError, match="on purpose"):
        await guard.reconcile(WORKFLOWS, ref, fails)
    assert "bad" in annotation(fake)
    await clock.advance(3600)
    assert await guard.reconcile(WORKFLOWS, ref, succeeds) == 7.0
    assert annotation(fake) == "[]"


@pytest.mark.attack
async def test_an_object_with_good_and_bad_passes_in_turn_waits_longer_each_time(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    async def succeeds() -> float | None:
        return None

    for delay in (10, 40, 160):
        held = quarantine(fake, clock, ended_at=ref)
        guard = WorkGuard(quarantine=held)
        await guard.load()
        hold = held.hold(ref)
        assert hold is not None
        assert hold.until == pytest.approx(clock.now() + delay)
        await clock.advance(delay + 1)
        assert await guard.reconcile(WORKFLOWS, ref, succeeds) is None


async def test_an_object_at_which_reading_ended_the_operator_is_not_read(
    fake: FakeApi, clock: VirtualClock, ref: ObjectRef
) -> None:
    guard = WorkGuard(quarantine=quarantine(fake, clock, ended_at=ref._replace(reading=True)))
    await guard.load()
    read = guard.reader("Workflow", lambda raw: raw["metadata"]["name"])
    workflow = fake.get(WORKFLOWS, "team", "bad")
    assert workflow is not None
    with pytest.raises(QuarantinedError, match="ended while it read this Workflow"):
        read(workflow)
    await clock.advance(11)
    assert read(workflow) == "bad"


async def test_a_cluster_without_the_lease_loses_nothing(clock: VirtualClock, ref: ObjectRef) -> None:
    fake = FakeApi(clock)
    held = quarantine(fake, clock, ended_at=ref)
    await held.load()
    assert held.hold(ref) is not None
    fake.put(LEASES, {"metadata": {"name": "torpor-operator", "namespace": "torpor-system"}, "spec": {}})
    await held.load()
    assert "bad" in annotation(fake)
