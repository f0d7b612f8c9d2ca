"""A triggerer leaves the waits of a namespace alone while another installation serves it."""

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES
from torpor_triggerer.sharding.namespace_owners import NamespaceOwners
from torpor_wire import constants, times

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, triggerer_fixture


def hold(world: TriggererFixture, holder: str, namespace: str = NAMESPACE, duration: int = 60) -> None:
    """Write the Lease of a namespace, as the operator of an installation does."""
    metadata = {"name": constants.INSTALLATION_LEASE, "namespace": namespace}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": times.rfc3339(world.now)}
    world.fake.put(LEASES, {"metadata": metadata, "spec": spec})


async def owners(world: TriggererFixture, *namespaces: str) -> NamespaceOwners:
    read = NamespaceOwners(Api(world.fake, world.clock), home="torpor-a", namespaces=namespaces)
    await read.refresh()
    return read


@pytest.mark.parametrize(("holder", "serves"), [("torpor-a", True), ("torpor-b", False)])
async def test_the_lease_names_the_installation_of_a_namespace(holder: str, *, serves: bool) -> None:
    async with triggerer_fixture() as world:
        hold(world, holder)
        read = await owners(world)
        assert (read.serves(NAMESPACE), read.serves("other")) == (serves, True)


async def test_a_confined_triggerer_reads_its_namespaces_alone() -> None:
    async with triggerer_fixture() as world:
        hold(world, "torpor-b")
        hold(world, "torpor-b", "other")
        read = await owners(world, NAMESPACE)
        assert (read.serves(NAMESPACE), read.serves("other")) == (False, True)


async def test_waits_stop_while_another_installation_serves_their_namespace() -> None:
    async with triggerer_fixture() as world:
        world.home = "torpor-a"
        world.taskrun("a")
        triggerer = await world.start()
        assert triggerer.waits == 1
        hold(world, "torpor-b")
        await world.pass_time(25)
        assert (triggerer.waits, world.called("a")) == (0, ["run", "cleanup"])
        await world.pass_time(90)
        assert (triggerer.waits, world.called("a")) == (1, ["run", "cleanup", "run"])


@pytest.mark.attack
async def test_a_long_duration_keeps_no_wait_from_its_triggerer() -> None:
    async with triggerer_fixture() as world:
        hold(world, "stranger", duration=1_000_000_000)
        read = await owners(world)
        assert not read.serves(NAMESPACE)
        await world.pass_time(61)
        await read.refresh()
        assert read.serves(NAMESPACE)


async def test_what_cannot_be_read_stays_as_it_was() -> None:
    async with triggerer_fixture() as world:
        world.fake.inject(Fault(status=403, path="/leases", message="no such right"))
        hold(world, "torpor-b")
        read = await owners(world)
        assert read.serves(NAMESPACE)
        await read.refresh()
        world.fake.inject(Fault(status=403, path="/leases", message="no such right"))
        assert (await read.refresh(), read.serves(NAMESPACE)) == ((), False)
