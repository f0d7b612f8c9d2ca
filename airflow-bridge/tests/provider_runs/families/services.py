"""Rows of services with an HTTP API: dbt Cloud, Airbyte, Livy, OpenAI, and HTTP itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from provider_runs.families.web_row import WebRows
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers
from provider_runs.servers.web import WebServer

_DBT = "/api/v2/accounts/1"
_RUNNING, _DONE, _ERROR = 3, 10, 20


def dbt(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of dbt Cloud."""

    def connection(server: WebServer) -> Mapping[str, Any]:
        return {"conn_type": "dbt_cloud", "host": f"127.0.0.1:{server.port}", "login": "1", "password": "token"}

    def runs(*states: int) -> list[dict[str, Any]]:
        return [{"data": {"id": 7, "status": state, "href": "https://dbt/run/7"}} for state in states]

    cloud = WebRows(servers, "dbt.cloud", "dbt_cloud_conn_id", connection, uses_tls=True)
    started = {f"POST {_DBT}/jobs/5/run/": {"data": {"id": 7, "href": "https://dbt/run/7", "status": 1}}}
    job = {"job_id": 5, "check_interval": 1, "deferrable": True}
    yield cloud.row(
        "dbt.cloud.operators.dbt.DbtCloudRunJobOperator",
        job,
        {**started, f"GET {_DBT}/runs/7/": runs(_RUNNING, _RUNNING, _DONE)},
        result=7,
        defers=["DbtCloudRunJobTrigger"],
    )
    yield cloud.row(
        "dbt.cloud.operators.dbt.DbtCloudRunJobOperator",
        job,
        {**started, f"GET {_DBT}/runs/7/": runs(_RUNNING, _RUNNING, _ERROR)},
        case="failed",
        state="Failed",
    )
    yield cloud.row(
        "dbt.cloud.sensors.dbt.DbtCloudJobRunSensor",
        {"run_id": 7, "deferrable": True, "poke_interval": 1.0, "timeout": 300},
        {f"GET {_DBT}/runs/7/": runs(_RUNNING, _RUNNING, _DONE)},
    )


def airbyte(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of Airbyte."""

    def connection(server: WebServer) -> Mapping[str, Any]:
        return {"conn_type": "airbyte", "host": f"{server.url}/api/public/v1/"}

    def job(status: str) -> dict[str, Any]:
        return {"jobId": 7, "status": status, "jobType": "sync", "startTime": "", "connectionId": "c1"}

    jobs = "/api/public/v1/jobs"
    rows = WebRows(servers, "airbyte", "airbyte_conn_id", connection)
    yield rows.row(
        "airbyte.operators.airbyte.AirbyteTriggerSyncOperator",
        {"connection_id": "c1", "deferrable": True},
        {f"POST {jobs}": job("running"), f"GET {jobs}/7": job("succeeded")},
        defers=["AirbyteSyncTrigger"],
    )
    yield rows.row(
        "airbyte.sensors.airbyte.AirbyteJobSensor",
        {"airbyte_job_id": 7, "deferrable": True, "poke_interval": 1.0, "timeout": 300},
        {f"GET {jobs}/7": [job("running"), job("running"), job("succeeded")]},
    )


def livy(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of Livy."""

    def connection(server: WebServer) -> Mapping[str, Any]:
        return {"conn_type": "livy", "host": "127.0.0.1", "port": server.port, "schema": "http"}

    def batch(state: str) -> dict[str, Any]:
        return {"id": 7, "state": state}

    rows = WebRows(servers, "apache.livy", "livy_conn_id", connection)
    answers: dict[str, Any] = {
        "POST /batches": batch("starting"),
        "GET /batches/7": {**batch("success"), "appId": "application_1"},
        "GET /batches/7/log": {"id": 7, "from": 0, "total": 1, "log": ["done"]},
    }
    yield rows.row(
        "apache.livy.operators.livy.LivyOperator",
        {"file": "local:/main.py", "polling_interval": 1, "deferrable": True},
        {**answers, "GET /batches/7/state": [batch("starting"), batch("running"), batch("success")]},
        result=7,
    )


def openai(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of OpenAI."""

    def connection(server: WebServer) -> Mapping[str, Any]:
        return {"conn_type": "openai", "host": f"{server.url}/v1", "password": "key"}

    def batch(status: str) -> dict[str, Any]:
        described = {"id": "b1", "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "f1"}
        return {**described, "status": status, "completion_window": "24h", "created_at": 1}

    rows = WebRows(servers, "openai", "conn_id", connection)
    yield rows.row(
        "openai.operators.openai.OpenAITriggerBatchOperator",
        {"file_id": "f1", "endpoint": "/v1/chat/completions", "poll_interval": 1, "deferrable": True},
        {
            "POST /v1/batches": batch("validating"),
            "GET /v1/batches/b1": [batch("in_progress"), batch("completed")],
        },
        result="b1",
    )


def http(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of the HTTP provider."""

    def connection(server: WebServer) -> Mapping[str, Any]:
        return {"conn_type": "http", "host": "127.0.0.1", "port": server.port}

    rows = WebRows(servers, "http", "http_conn_id", connection)
    yield rows.row(
        "http.operators.http.HttpOperator",
        {"endpoint": "rows", "method": "GET", "deferrable": True},
        {"GET /rows": {"rows": 3}},
        result='{"rows": 3}',
    )
    unready = (404, {"ready": False})
    yield rows.row(
        "http.sensors.http.HttpSensor",
        {"endpoint": "ready", "deferrable": True, "poke_interval": 1.0, "timeout": 300},
        {"GET /ready": [unready, unready, {"ready": True}]},
        defers=["HttpSensorTrigger"],
    )
    yield rows.row(
        "http.triggers.http.HttpTrigger",
        {"endpoint": "rows", "method": "GET"},
        {"GET /rows": {"rows": 3}},
        is_trigger=True,
        result={"status": "success"},
    )
    yield rows.row(
        "http.triggers.http.HttpEventTrigger",
        {"endpoint": "rows", "response_check_path": "provider_runs.checks.has_rows", "poll_interval": 1.0},
        {"GET /rows": {"rows": 3}},
        is_trigger=True,
    )
