"""Operators, sensors and functions of Airflow in real pods, and their waits in a pool of triggerers."""

import json
from typing import Any

import pytest
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_wire.constants import LABEL_SCHEDULE
from torpor_wire.state import State

from tests.e2e.airflow.conftest import AirflowStage, states_of
from tests.e2e.support.stage import TIMEOUT, of_taskrun

pytestmark = pytest.mark.long


async def test_functions_and_a_deferrable_sensor_run_in_pods(airflow: AirflowStage) -> None:
    stage = airflow.stage
    address = await airflow.serve("site", "python", "http_site.py")
    connection = airflow.give_connection("reports", f"http://{address}:8000/")
    airflow.apply(airflow.convert("kind_reports.py", connection))
    await stage.start("reports", {"templateRef": {"name": "kind-reports"}})

    waiting = await stage.reached("reports", "gate", State.DEFERRED)
    assert waiting.status.trigger is not None
    assert waiting.status.trigger.class_name == "airflow.providers.http.triggers.http.HttpSensorTrigger"

    async def without_pod() -> bool | None:
        pods = (await stage.api.list(PODS, stage.namespace, label_selector=of_taskrun(waiting))).items
        live = [pod for pod in pods if pod["status"].get("phase") in {"Pending", "Running"}]
        return None if live else True

    await stage.until(without_pod, TIMEOUT, "the pod of the waiting sensor to end")
    assert (await stage.workflow("reports")).status.completion_time is None
    airflow.kubectl.run("-n", stage.namespace, "exec", "site", "--", "touch", "/tmp/open")

    ended = await stage.ended("reports")
    assert states_of(ended.status.tasks) == dict.fromkeys(("extract", "gate", "load"), "Succeeded")
    (load,) = await stage.taskruns("reports", "load")
    assert json.loads(load.status.result or "") == 6


async def test_a_sensor_for_another_dag_waits_for_its_run_of_the_same_tick(airflow: AirflowStage) -> None:
    stage = airflow.stage
    airflow.apply(airflow.convert("kind_orders.py"))

    async def invoiced() -> dict[str, Any] | None:
        runs = (
            await stage.api.list(WORKFLOWS, stage.namespace, label_selector=f"{LABEL_SCHEDULE}=kind-invoices")
        ).items
        return next((run for run in runs if run.get("status", {}).get("state") in {"Succeeded", "Failed"}), None)

    invoices = await stage.until(invoiced, TIMEOUT, "a run of kind-invoices to end")
    assert invoices["status"]["state"] == "Succeeded", invoices["status"]
    (ordered,) = await stage.taskruns(invoices["metadata"]["name"], "ordered")
    history = (await stage.api.get(TASKRUNS, stage.namespace, ordered.metadata.name))["status"]["history"]
    triggers = [each["trigger"] for each in history if each["state"] == "Deferred"]
    assert triggers == ["airflow.providers.standard.triggers.external_task.WorkflowTrigger"]
    runs = (await stage.api.list(WORKFLOWS, stage.namespace, label_selector=f"{LABEL_SCHEDULE}=kind-orders")).items
    tick = invoices["spec"]["runOf"]["at"]
    (orders,) = [run for run in runs if run["spec"]["runOf"]["at"] == tick]
    assert orders["status"]["tasks"][0]["state"] == "Succeeded"
