"""DAGs of the system tests of Airflow's providers, unmodified, with connections to servers in the cluster."""

import json
import secrets
from typing import Any

import pytest

from tests.e2e.airflow.conftest import SYSTEM_TESTS, AirflowStage, states_of

pytestmark = pytest.mark.long
_SECONDS = 500.0
"""Each task imports Airflow, one after the other."""


async def run(airflow: AirflowStage, file: str, template: str, *options: str) -> dict[str, str]:
    """Convert and run a DAG; return the states of its tasks."""
    airflow.apply(airflow.convert(f"{SYSTEM_TESTS}/{file}.py", *options))
    await airflow.stage.start("run", {"templateRef": {"name": template}})
    ended = await airflow.stage.ended("run", _SECONDS)
    states = states_of(ended.status.tasks)
    assert ended.status.state == "Succeeded", (states, await messages(airflow))
    return states


async def messages(airflow: AirflowStage) -> dict[str, str | None]:
    """The messages of the TaskRuns that failed."""
    runs = await airflow.stage.taskruns("run")
    return {run.spec.task: run.status.message for run in runs if run.status.message}


async def test_the_system_test_of_the_http_provider_succeeds(airflow: AirflowStage) -> None:
    address = await airflow.serve("site", "python", "http_site.py")
    connection = airflow.give_connection("http_default", f"http://{address}:8000/")
    states = await run(airflow, "example_http", "example-http-operator", connection)
    assert len(states) == 9
    assert set(states.values()) == {"Succeeded"}


@pytest.mark.parametrize(
    ("file", "template"),
    [
        ("example_sql_execute_query", "example-sql-execute-query"),
        ("example_sql_insert_rows", "example-sql-insert-rows"),
    ],
)
async def test_a_system_test_of_the_sql_provider_succeeds(airflow: AirflowStage, file: str, template: str) -> None:
    password = secrets.token_hex(8)
    address = await airflow.serve("postgres", "sh", "start_postgres.sh", password)
    uri = f"postgres://airflow:{password}@{address}:8000/postgres"
    states = await run(airflow, file, template, airflow.give_connection("airflow_db", uri))
    assert set(states.values()) == {"Succeeded"}


async def test_the_system_test_of_kubernetes_resources_succeeds(airflow: AirflowStage) -> None:
    connection = airflow.give_connection("kubernetes_default", cluster_connection(airflow))
    states = await run(airflow, "example_kubernetes_resource", "example-kubernetes-resource-operator", connection)
    assert states == {"create_pvc": "Succeeded", "delete_pvc": "Succeeded", "watcher": "Skipped"}
    claims = airflow.kubectl.read("persistentvolumeclaims", "-n", airflow.stage.namespace)
    assert [each for each in claims["items"] if "deletionTimestamp" not in each["metadata"]] == []


def cluster_connection(airflow: AirflowStage) -> dict[str, Any]:
    """A connection to the cluster's own API as an account that may create and delete claims."""
    kubectl, namespace = airflow.kubectl, airflow.stage.namespace
    kubectl.run("-n", namespace, "create", "serviceaccount", "claims")
    verbs = "--verb=create,get,list,delete"
    kubectl.run("-n", namespace, "create", "role", "claims", verbs, "--resource=persistentvolumeclaims")
    kubectl.run(
        "-n", namespace, "create", "rolebinding", "claims", "--role=claims", f"--serviceaccount={namespace}:claims"
    )
    token = kubectl.run("-n", namespace, "create", "token", "claims").strip()
    current = json.loads(kubectl.run("config", "view", "--raw", "--minify", "-o", "json"))
    trusted = current["clusters"][0]["cluster"]["certificate-authority-data"]
    server = {"server": "https://kubernetes.default.svc", "certificate-authority-data": trusted}
    kube_config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": server}],
        "users": [{"name": "claims", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "claims", "namespace": namespace}}],
        "current-context": "here",
    }
    return {"conn_type": "kubernetes", "extra": {"kube_config": json.dumps(kube_config), "namespace": namespace}}
