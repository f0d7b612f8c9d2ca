"""Variables with the whole controller: a ConfigMap that is read when a Workflow's expressions ask for it."""

from torpor_api.client.resources import CONFIG_MAPS
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness

LOAD = python("load", expand=[{"name": "day", "over": "${variables.days.split(',')}"}])


async def test_variables_are_read_from_the_configmap_of_the_workflows_namespace() -> None:
    async with ControllerHarness(Settings()).running() as rig:
        rig.fake.serve(CONFIG_MAPS)
        for namespace, days in ((NAMESPACE, "mon,tue"), ("other", "sat")):
            metadata = {"name": "settings", "namespace": namespace}
            rig.fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"days": days}})
        rig.create("run", LOAD, variablesFrom="settings")
        await rig.advance(3)
        assert rig.state("run") == "Succeeded"
        given = [rig.taskrun("run", "load", index)["spec"]["arguments"] for index in range(2)]
        assert [[one["value"] for one in arguments] for arguments in given] == [['"mon"'], ['"tue"']]


async def test_a_configmap_that_is_not_there_fails_what_asks_for_it_and_is_named() -> None:
    async with ControllerHarness(Settings()).running() as rig:
        rig.fake.serve(CONFIG_MAPS)
        rig.create("run", LOAD, python("other"), variablesFrom="settings")
        await rig.advance(3)
        entries = {entry["name"]: entry for entry in rig.workflow("run")["status"]["tasks"]}
        assert entries["other"]["state"] == "Succeeded"
        message = "expand day: ConfigMap settings of spec.variablesFrom does not exist"
        assert (entries["load"]["reason"], entries["load"]["message"]) == ("ExpressionFailed", message)
