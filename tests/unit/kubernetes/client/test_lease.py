"""Leases: one holder at a time, however clocks, networks and holders fail."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Never, TypeAlias

import pytest
from torpor_kubernetes.client import errors, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fake(clock: VirtualClock) -> FakeApi:
    return FakeApi(clock)


def lease_config(identity: str) -> lease.LeaseConfig:
    return lease.LeaseConfig(namespace="ns", name="leader", identity=identity, duration=15, labels={"part": "operator"})


Ready: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]


class LeaseCandidate:
    """Leads for ever once it may, and says when."""

    def __init__(
        self, fake: FakeApi, clock: VirtualClock, identity: str, jitter: float = 0.5, ready: Ready = lease.at_once
    ) -> None:
        self.leading = False
        self.leadership = lease.Leadership(Api(fake, clock, jitter=lambda: jitter), lease_config(identity))
        self.task = asyncio.create_task(self.leadership.run(self._lead, ready))

    async def _lead(self) -> Never:
        self.leading = True
        try:
            await asyncio.Event().wait()
            raise AssertionError
        finally:
            self.leading = False

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_the_first_leads_and_the_second_waits_as_long_as_the_first_renews(
    fake: FakeApi, clock: VirtualClock
) -> None:
    first = LeaseCandidate(fake, clock, "first")
    await settle()
    second = LeaseCandidate(fake, clock, "second")
    await clock.advance(300)
    assert (first.leading, second.leading) == (True, False)
    renewals = [request for request in fake.writes() if request.method == "PATCH"]
    assert 55 <= len(renewals) <= 60
    await first.stop()
    await second.stop()


async def test_a_leader_that_ends_lets_the_next_one_begin_within_seconds(fake: FakeApi, clock: VirtualClock) -> None:
    first, second = LeaseCandidate(fake, clock, "first"), LeaseCandidate(fake, clock, "second")
    await settle()
    await clock.advance(20)
    await first.stop()
    await clock.advance(3)
    assert second.leading
    stored = fake.get(LEASES, "ns", "leader")
    assert stored is not None
    assert (stored["spec"]["holderIdentity"], stored["spec"]["leaseTransitions"]) == ("second", 2)
    assert stored["metadata"]["labels"] == {"part": "operator"}
    await second.stop()


async def test_a_silent_leader_is_replaced_as_soon_as_its_lease_has_expired(fake: FakeApi, clock: VirtualClock) -> None:
    held = {"holderIdentity": "killed", "leaseDurationSeconds": 15, "renewTime": "2026-11-20T08:00:00.000000Z"}
    fake.put(LEASES, {"metadata": {"name": "leader", "namespace": "ns"}, "spec": held})
    second = LeaseCandidate(fake, clock, "second", jitter=0.2)
    early = []
    for seconds in (14.9, 0.2):
        await clock.advance(seconds)
        early.append(second.leading)
    assert early == [False, True]
    await second.stop()


async def test_a_lease_expires_while_a_replica_prepares(fake: FakeApi, clock: VirtualClock) -> None:
    held = {"holderIdentity": "killed", "leaseDurationSeconds": 15, "renewTime": "2026-11-20T08:00:00.000000Z"}
    fake.put(LEASES, {"metadata": {"name": "leader", "namespace": "ns"}, "spec": held})
    prepared = asyncio.Event()

    async def ready() -> None:
        await prepared.wait()

    second = LeaseCandidate(fake, clock, "second", jitter=0.2, ready=ready)
    await clock.advance(20)
    before = second.leading
    prepared.set()
    await settle()
    assert (before, second.leading) == (False, True)
    await second.stop()


async def test_a_replica_that_cannot_prepare_ends_while_another_leads(fake: FakeApi, clock: VirtualClock) -> None:
    async def ready() -> None:
        raise errors.NotFound("no such kind")

    first = LeaseCandidate(fake, clock, "first")
    await settle()
    second = LeaseCandidate(fake, clock, "second", ready=ready)
    await clock.advance(5)
    assert isinstance(second.task.exception(), errors.NotFound)
    await first.stop()


async def test_a_replica_that_prepares_leaves_its_own_lease_to_others(fake: FakeApi, clock: VirtualClock) -> None:
    held = {"holderIdentity": "first", "leaseDurationSeconds": 15, "renewTime": "2026-11-20T08:00:00.000000Z"}
    fake.put(LEASES, {"metadata": {"name": "leader", "namespace": "ns"}, "spec": held})
    first = LeaseCandidate(fake, clock, "first", ready=asyncio.Event().wait)
    second = LeaseCandidate(fake, clock, "second")
    await clock.advance(20)
    assert (first.leading, second.leading) == (False, True)
    await first.stop()
    await second.stop()


async def test_a_renewal_that_is_read_late_counts_from_when_it_was_read(fake: FakeApi, clock: VirtualClock) -> None:
    held = {"holderIdentity": "alive", "leaseDurationSeconds": 15, "renewTime": "2026-11-20T08:00:00.000000Z"}
    fake.put(LEASES, {"metadata": {"name": "leader", "namespace": "ns"}, "spec": held})
    fake.latency = 3.0  # each way
    second = LeaseCandidate(fake, clock, "second", jitter=0.2)
    await clock.advance(2)
    fake.edit(LEASES, "ns", "leader", {"spec": {"renewTime": "2026-11-20T08:00:02.000000Z"}})
    await clock.advance(4)
    fake.latency = 0.0
    early = []
    for seconds in (13.9, 1.2):
        await clock.advance(seconds)
        early.append(second.leading)
    assert early == [False, True]
    await second.stop()


async def test_a_leader_cut_off_stops_before_another_takes_over(fake: FakeApi, clock: VirtualClock) -> None:
    first = LeaseCandidate(fake, clock, "first")
    await settle()
    second = LeaseCandidate(fake, clock, "second")
    await clock.advance(60)
    cut_off(first)
    both = 0
    for _ in range(300):
        await clock.advance(0.1)
        both += first.leading and second.leading
    assert both == 0
    assert second.leading
    with pytest.raises(lease.LeaseLost, match="could not be renewed in time"):
        await first.task
    await second.stop()


async def test_a_leader_whose_requests_hang_stops_in_time(fake: FakeApi, clock: VirtualClock) -> None:
    first = LeaseCandidate(fake, clock, "first")
    await settle()
    fake.latency = 1000.0
    await clock.advance(9.5)
    assert first.leadership.holds()
    await clock.advance(1)
    assert not first.leadership.holds()
    await clock.advance(1)
    assert not first.leading
    with pytest.raises(lease.LeaseLost):
        await first.task


async def test_a_leader_whose_lease_was_taken_stops_at_its_next_renewal(fake: FakeApi, clock: VirtualClock) -> None:
    first = LeaseCandidate(fake, clock, "first")
    await settle()
    fake.edit(LEASES, "ns", "leader", {"spec": {"holderIdentity": "another"}})
    await clock.advance(5.1)
    with pytest.raises(lease.LeaseLost, match="another process holds it"):
        await first.task
    assert not first.leadership.holds()


async def test_a_renewal_whose_reply_is_lost_does_not_end_leadership(fake: FakeApi, clock: VirtualClock) -> None:
    first = LeaseCandidate(fake, clock, "first")
    await settle()
    fake.inject(Fault(method="PATCH", commit=True))
    fake.inject(Fault(method="PATCH", status=503))
    await clock.advance(60)
    assert first.leading
    await first.stop()


async def test_an_acquisition_whose_reply_is_lost_is_detected(fake: FakeApi, clock: VirtualClock) -> None:
    fake.inject(Fault(method="POST", commit=True))
    first = LeaseCandidate(fake, clock, "first")
    await clock.advance(3)
    assert first.leading
    await first.stop()


async def test_an_acquisition_answered_too_late_is_repeated_before_leading(fake: FakeApi, clock: VirtualClock) -> None:
    fake.latency = 3.0
    first = LeaseCandidate(fake, clock, "first")
    for _ in range(40):
        await clock.advance(1)
        assert not first.leading
    fake.latency = 0.0
    await clock.advance(20)
    assert first.leading
    await first.stop()


async def test_the_wall_clocks_of_two_machines_are_never_compared(fake: FakeApi, clock: VirtualClock) -> None:
    away = VirtualClock(start=1.0)
    first = LeaseCandidate(fake, away, "first")
    await settle()
    second = LeaseCandidate(fake, clock, "second")
    for _ in range(600):
        await away.advance(0.1)
        await clock.advance(0.1)
        away.jump(3600.0)
    assert (first.leading, second.leading) == (True, False)
    await first.stop()
    await second.stop()


async def test_what_is_led_may_end_or_fail_and_the_lease_is_released(fake: FakeApi, clock: VirtualClock) -> None:
    async def answer() -> int:
        return 42

    async def fail() -> int:
        raise ZeroDivisionError

    leadership = lease.Leadership(Api(fake, clock), lease_config("first"))
    assert await leadership.run(answer) == 42
    with pytest.raises(ZeroDivisionError):
        await leadership.run(fail)
    stored = fake.get(LEASES, "ns", "leader")
    assert stored is not None
    assert "holderIdentity" not in stored["spec"]


def observed(
    previous: Mapping[str, lease.ObservedLease], leases: list[lease.Lease], now: float
) -> dict[str, lease.ObservedLease]:
    return {record.name: lease.observe(previous.get(record.name), record, now) for record in leases}


def test_members_are_live_until_each_has_been_silent_for_its_own_duration() -> None:
    def member(name: str, renewed: str, duration: int = 15) -> lease.Lease:
        spec: dict[str, Any] = {"holderIdentity": name, "renewTime": renewed, "leaseDurationSeconds": duration}
        return lease.parse({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec})

    seen = observed({}, [member("b", "t0"), member("a", "t0"), member("c", "t0", 5)], 100.0)
    assert [held.name for held in lease.live(seen, 100.0)] == ["a", "b", "c"]
    seen = observed(seen, [member("a", "t1"), member("b", "t0"), member("c", "t0", 5)], 110.0)
    assert [held.name for held in lease.live(seen, 114.9)] == ["a", "b"]
    assert [held.name for held in lease.live(seen, 115.0)] == ["a"]
    assert lease.may_acquire(seen["b"], "x", 115.0)
    assert not lease.may_acquire(seen["a"], "x", 115.0)
    assert lease.may_acquire(seen["a"], "a", 115.0)


def cut_off(replica: LeaseCandidate) -> None:
    """From now on its requests reach nobody."""
    unreachable = FakeApi(VirtualClock())
    unreachable.inject(Fault(times=10_000))
    replica.leadership._api.transport = unreachable


async def test_a_leader_whose_event_loop_hangs_lets_its_lease_expire(fake: FakeApi, clock: VirtualClock) -> None:
    alive = True
    leadership = lease.Leadership(Api(fake, clock), lease_config("hanging"), is_alive=lambda: alive)
    task = asyncio.create_task(leadership.run(asyncio.Event().wait))
    await clock.advance(60)
    assert leadership.holds()
    alive = False
    await clock.advance(6)
    with pytest.raises(lease.LeaseLost, match="the event loop hangs"):
        await task
