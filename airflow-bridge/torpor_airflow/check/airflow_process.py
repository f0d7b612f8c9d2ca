"""Runs `dag.test()` for DAGs, in an Airflow of its own: a folder with its database. A program of its own.

It must not import `torpor_airflow`, which makes Airflow a library without a database. Each line of standard input is a
request `{"module", "path", "dag", "logical_date", "conf", "seconds"}`, each line of standard output its outcome.
"""

import json
import os
import random
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HOME = Path(os.environ["AIRFLOW_HOME"])
DATABASE, DAGS = HOME / "airflow.db", HOME / "dags"


def main() -> None:
    """Answer requests until the end of the input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Airflow writes its logs to the standard output
    _prepare()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_forked(json.loads(line))) + "\n")
        answers.flush()


def _prepare() -> None:
    """Create the database once, and import what each request needs."""
    DAGS.mkdir(parents=True, exist_ok=True)
    from airflow import settings  # noqa: PLC0415
    from airflow.utils.db import initdb  # noqa: PLC0415 - after the variables are set

    initdb()
    settings.dispose_orm()  # writes the log of SQLite into the file
    shutil.copy(DATABASE, HOME / "empty.db")
    import airflow.dag_processing.dagbag  # noqa: PLC0415
    import airflow.sdk.execution_time.supervisor  # noqa: PLC0415
    import airflow.serialization.definitions.dag  # noqa: F401, PLC0415


def _forked(request: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a request, which a process of its own runs."""
    for part in ("-wal", "-shm"):
        Path(f"{DATABASE}{part}").unlink(missing_ok=True)
    shutil.copy(HOME / "empty.db", DATABASE)
    for old in DAGS.iterdir():
        old.unlink() if old.is_file() else shutil.rmtree(old)
    shutil.copy(request["path"], DAGS)
    outcome = HOME / "outcome.json"
    outcome.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            outcome.write_text(json.dumps(_run(request)))
        except BaseException as error:  # noqa: BLE001 - the caller gets it
            traceback.print_exc()
            outcome.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        finally:
            os._exit(0)
    end = time.monotonic() + request["seconds"]
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, 9)
            os.waitpid(child, 0)
            return {"error": f"dag.test() takes longer than {request['seconds']} s"}
        time.sleep(0.05)
    return json.loads(outcome.read_text()) if outcome.exists() else {"error": "dag.test() ended its process"}


def _run(request: dict[str, Any]) -> dict[str, Any]:
    from airflow import settings  # noqa: PLC0415
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415

    settings.configure_orm()
    execute: Any = task_runner._execute_task  # noqa: SLF001 - to make random choices repeat

    def seeded(*args: Any, **kwargs: Any) -> Any:
        random.seed(0)
        return execute(*args, **kwargs)

    task_runner._execute_task = seeded  # noqa: SLF001
    dag = _find(request)
    from datetime import datetime  # noqa: PLC0415

    moment = datetime.fromisoformat(request["logical_date"])
    run = dag.test(logical_date=moment, run_after=moment, run_conf=request["conf"] or None)
    return _outcome(dag.dag_id, run)


def _find(request: dict[str, Any]) -> Any:
    import importlib  # noqa: PLC0415

    from airflow.sdk import DAG  # noqa: PLC0415
    from airflow.sdk.definitions._internal.contextmanager import DagContext  # noqa: PLC0415

    sys.path.insert(0, str(Path(request["path"]).parent))
    DagContext.current_autoregister_module_name = request["module"]
    module = importlib.import_module(request["module"])
    DagContext.current_autoregister_module_name = None
    dags = [dag for dag in vars(module).values() if isinstance(dag, DAG)]
    dags += [dag for dag, _ in DagContext.autoregistered_dags]
    return next(dag for dag in dags if dag.dag_id == request["dag"])


def _outcome(dag_id: str, run: Any) -> dict[str, Any]:
    """Return the state of the run, and states and XComs by task and index."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.models.xcom import XComModel  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    states: dict[str, dict[str, str]] = {}
    xcoms: dict[str, dict[str, dict[str, Any]]] = {}
    with create_session() as session:
        mine = {"dag_id": dag_id, "run_id": run.run_id}
        for each in session.scalars(select(TaskInstance).filter_by(**mine)):
            states.setdefault(each.task_id, {})[str(each.map_index)] = str(each.state)
        for each in session.scalars(select(XComModel).filter_by(**mine)):
            xcoms.setdefault(each.task_id, {}).setdefault(str(each.map_index), {})[each.key] = _value(each.value)
    return {"state": str(run.state), "states": states, "xcoms": xcoms}


def _value(stored: Any) -> Any:
    """Return an XCom as JSON: the object itself if it is JSON, else as Airflow stores it."""
    from airflow.sdk.serde import deserialize  # noqa: PLC0415

    try:
        return json.loads(json.dumps(deserialize(stored)))
    except (TypeError, ValueError, ImportError):
        return stored


if __name__ == "__main__":
    main()
