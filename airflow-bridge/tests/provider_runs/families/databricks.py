"""Rows of Databricks."""

from collections.abc import Iterator, Mapping
from typing import Any

from provider_runs.families.web_row import WebRows
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers
from provider_runs.servers.web import WebServer

_JOBS = "/api/2.2/jobs"
_SQL = "/api/2.0/sql"
_QUICK = {"polling_period_seconds": 1, "deferrable": True}
_KEYED = {**_QUICK, "databricks_task_key": "load"}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    databricks = WebRows(servers, "databricks", "databricks_conn_id", _connection)
    yield from _jobs(databricks)
    yield from _statements(databricks)
    yield from _warehouses(databricks)


def _connection(server: WebServer) -> Mapping[str, Any]:
    return {
        "conn_type": "databricks",
        "host": "127.0.0.1",
        "port": server.port,
        "schema": "http",
        "password": "token",
    }


def _run(*states: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the answers about a run: life cycle and result of each."""
    tasks = [{"task_key": "load", "run_id": 7, "start_time": 1}]
    page = {"run_id": 7, "job_id": 3, "run_page_url": "http://databricks/run/7", "tasks": tasks}
    return [
        {**page, "state": {"life_cycle_state": life, "result_state": result, "state_message": ""}}
        for life, result in states
    ]


def _jobs(databricks: WebRows) -> Iterator[ProviderRow]:
    running = _run(("PENDING", ""), ("RUNNING", ""), ("RUNNING", ""), ("TERMINATED", "SUCCESS"))
    submitted = {f"POST {_JOBS}/runs/submit": {"run_id": 7}}
    notebook = {"notebook_task": {"notebook_path": "/load"}, "existing_cluster_id": "c1"}
    yield databricks.row(
        "databricks.operators.databricks.DatabricksSubmitRunOperator",
        {"json": notebook, **_QUICK},
        {**submitted, f"GET {_JOBS}/runs/get": running},
        defers=["DatabricksExecutionTrigger"],
    )
    yield databricks.row(
        "databricks.operators.databricks.DatabricksSubmitRunOperator",
        {"json": notebook, **_QUICK},
        {
            **submitted,
            f"GET {_JOBS}/runs/get": _run(("PENDING", ""), ("RUNNING", ""), ("RUNNING", ""), ("TERMINATED", "FAILED")),
        },
        case="failed",
        state="Failed",
    )
    yield databricks.row(
        "databricks.operators.databricks.DatabricksRunNowOperator",
        {"job_id": 3, **_QUICK},
        {f"POST {_JOBS}/run-now": {"run_id": 7}, f"GET {_JOBS}/runs/get": running},
    )
    yield databricks.row(
        "databricks.operators.databricks.DatabricksNotebookOperator",
        {"notebook_path": "/load", "source": "WORKSPACE", "existing_cluster_id": "c1", **_KEYED},
        {**submitted, f"GET {_JOBS}/runs/get": running},
    )
    yield databricks.row(
        "databricks.operators.databricks.DatabricksTaskOperator",
        {"task_config": {"notebook_task": {"notebook_path": "/load"}}, "existing_cluster_id": "c1", **_KEYED},
        {**submitted, f"GET {_JOBS}/runs/get": running},
    )


def _statements(databricks: WebRows) -> Iterator[ProviderRow]:
    states = [{"statement_id": "s1", "status": {"state": each}} for each in ("PENDING", "RUNNING", "SUCCEEDED")]
    answers = {f"POST {_SQL}/statements": {"statement_id": "s1"}, f"GET {_SQL}/statements/s1": states}
    statement = {"statement": "SELECT 1", "warehouse_id": "w1", **_QUICK}
    yield databricks.row("databricks.operators.databricks.DatabricksSQLStatementsOperator", statement, answers)
    yield databricks.row("databricks.sensors.databricks.DatabricksSQLStatementsSensor", statement, answers)


def _warehouses(databricks: WebRows) -> Iterator[ProviderRow]:
    path = f"{_SQL}/warehouses/w1"
    yield databricks.row(
        "databricks.operators.warehouse.DatabricksStartWarehouseOperator",
        {"warehouse_id": "w1", **_QUICK},
        {f"POST {path}/start": {}, f"GET {path}": [{"state": each} for each in ("STOPPED", "STARTING", "RUNNING")]},
        defers=["DatabricksWarehouseStateTrigger"],
    )
    yield databricks.row(
        "databricks.operators.warehouse.DatabricksStopWarehouseOperator",
        {"warehouse_id": "w1", **_QUICK},
        {f"POST {path}/stop": {}, f"GET {path}": [{"state": each} for each in ("RUNNING", "STOPPING", "STOPPED")]},
    )
