"""One replica: a reference to a ConfigMap is its text, for an account that may read it."""

from typing import Any

import pytest
from torpor.triggers.support.arguments import Revealed
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_wire import constants
from torpor_wire.secret_ref import ConfigMapRef, SecretRef

from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, start_with_wait, triggerer_fixture

TEXT = "of-the-config-map"
SETTING = ConfigMapRef("db", "region").written()


def config_map(world: TriggererFixture, **data: str) -> None:
    world.fake.put(CONFIG_MAPS, {"metadata": {"name": "db", "namespace": NAMESPACE}, "data": data})


def reads(world: TriggererFixture) -> list[str]:
    return [request.path for request in world.fake.requests if request.path.endswith("/configmaps/db")]


async def test_a_reference_to_a_config_map_is_its_text_which_is_not_redacted() -> None:
    async with triggerer_fixture() as world:
        world.secret("db", password="hunter2-hunter2")
        config_map(world, region=TEXT)
        world.readers |= {(constants.TASK_ACCOUNT, "db"), (constants.TASK_ACCOUNT, "configmaps/db")}
        kwargs: dict[str, Any] = {"name": "a", "deep": [SETTING], "x": SecretRef("db", "password").written()}
        await start_with_wait(world, "a", kwargs={"does": "shows what it was given and fires", **kwargs})
        await world.pass_time(2)
        (setting,) = world.trigger_kwargs[0]["deep"]
        assert (setting, isinstance(setting, Revealed)) == (TEXT, False)
        assert TEXT in world.status("a")["event"]
        assert "hunter2" not in world.status("a")["event"]


@pytest.mark.attack
async def test_an_account_that_may_read_a_secret_may_not_read_the_config_map() -> None:
    async with triggerer_fixture() as world:
        config_map(world, region=TEXT)
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": SETTING})
        await world.pass_time(5)
        assert world.state_and_reason("a") == ("Failed", "SecretForbidden")
        message = world.status("a")["message"]
        assert "ServiceAccount torpor-task may not get ConfigMap db in namespace workflows" in message
        assert "create role read-configmap-db --verb=get --resource=configmaps --resource-name=db" in message
        assert reads(world) == []


@pytest.mark.attack
@pytest.mark.parametrize("data", [{"configMapRef": {"name": "db", "key": "region"}}, {"configMapRef": "db"}])
async def test_a_reference_from_data_is_refused_and_no_config_map_is_read(data: Any) -> None:
    async with triggerer_fixture() as world:
        config_map(world, region=TEXT)
        world.readers.add((constants.TASK_ACCOUNT, "configmaps/db"))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": [data]})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert "contains a configMapRef that came as data" in world.status("a")["message"]
        assert (world.reviews, reads(world)) == ([], [])


async def test_a_config_map_or_a_key_that_is_missing_is_waited_for() -> None:
    async with triggerer_fixture() as world:
        world.readers.add((constants.TASK_ACCOUNT, "configmaps/db"))
        await start_with_wait(world, "a", kwargs={"name": "a", "x": SETTING})
        await world.pass_time(4)
        assert "ConfigMap db does not exist in namespace workflows; retrying in 5 s" in world.log_output.getvalue()
        config_map(world, other="x")
        await world.pass_time(17)
        assert ": ConfigMap db has no key region" in world.status("a")["message"]
        world.fake.remove(CONFIG_MAPS, NAMESPACE, "db")
        config_map(world, region=TEXT)
        await world.pass_time(25)
        assert world.called("a") == ["run"]
