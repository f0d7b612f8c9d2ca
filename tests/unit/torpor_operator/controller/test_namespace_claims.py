"""Two installations of Torpor never work in one namespace: a Lease in it says whose it is."""

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.installation_lease import other_holder
from torpor_kubernetes.client.lease import Lease, ObservedLease
from torpor_kubernetes.client.resources import EVENTS, LEASES
from torpor_operator.controller.namespace_claims import NamespaceClaims
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.fake_api import FakeApi, VirtualClock


def observed(holder: str, *, duration: int = 60) -> ObservedLease:
    read = Lease(
        name=constants.INSTALLATION_LEASE,
        holder=holder,
        duration=duration,
        renewed="1",
        transitions=0,
        resource_version="1",
        labels={},
    )
    return ObservedLease(lease=read, since=0.0)


@pytest.mark.parametrize(
    ("holder", "age", "other"),
    [
        ("", 0.0, ""),
        ("torpor-a", 59.0, ""),
        ("torpor-b", 59.0, "torpor-b"),
        ("torpor-b", 60.0, ""),
    ],
    ids=["free", "ours", "of another one", "expired"],
)
def test_a_live_lease_of_another_installation_keeps_a_namespace(holder: str, age: float, other: str) -> None:
    assert other_holder(observed(holder), "torpor-a", age) == other


@pytest.mark.attack
def test_nobody_keeps_a_namespace_by_a_long_duration() -> None:
    assert other_holder(observed("x", duration=1_000_000_000), "torpor-a", 60.0) == ""


class World:
    """An API server with Leases and Events."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fake = FakeApi(self.clock)
        self.fake.serve(LEASES)
        self.fake.serve(EVENTS)

    def installation(self, home: str, *namespaces: str) -> NamespaceClaims:
        api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        limits = WriteLimits.build(api, Settings(namespace=home, identity="one"))
        return NamespaceClaims(api, limits.events, home=home, namespaces=namespaces)


@pytest.fixture
def world() -> World:
    return World()


async def test_of_two_confined_installations_the_first_one_serves(world: World) -> None:
    first, second = world.installation("torpor-a", "team"), world.installation("torpor-b", "team", "other")
    await first.refresh()
    await second.refresh()
    assert (first.serves("team"), second.serves("team"), second.serves("other")) == (True, False, True)
    (event,) = world.fake.all(EVENTS)
    assert event["reason"] == "NamespaceServedElsewhere"
    assert "torpor-a" in event["note"]
    assert "torpor-b" in event["note"]


async def test_an_installation_of_all_namespaces_leaves_confined_ones_alone(world: World) -> None:
    confined, everywhere = world.installation("torpor-a", "team"), world.installation("torpor-system")
    await confined.refresh()
    await everywhere.refresh()
    assert (everywhere.serves("team"), everywhere.serves("other")) == (False, True)


async def test_a_namespace_is_served_again_when_its_installation_is_gone(world: World) -> None:
    gone, next_one = world.installation("torpor-a", "team"), world.installation("torpor-b", "team")
    await gone.refresh()
    await next_one.refresh()
    await world.clock.advance(30)
    await gone.refresh()
    await world.clock.advance(40)
    await next_one.refresh()
    assert not next_one.serves("team")
    await world.clock.advance(61)
    await next_one.refresh()
    await next_one.refresh()
    assert next_one.serves("team")
    await gone.refresh()
    assert not gone.serves("team")


async def test_one_event_reports_an_overlap_that_lasts(world: World) -> None:
    first, second = world.installation("torpor-a", "team"), world.installation("torpor-b", "team")
    for _ in range(4):
        await first.refresh()
        await second.refresh()
        await world.clock.advance(20)
    assert len(world.fake.all(EVENTS)) == 1
