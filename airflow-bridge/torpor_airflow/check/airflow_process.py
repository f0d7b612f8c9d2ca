"""Runs `dag.test()` for DAGs, in an Airflow of its own: a folder with its database. A program of its own.

It must not import `torpor_airflow`, which makes Airflow a library without a database. Each line of standard input is a
request `{"module", "path", "dag", "logical_date", "conf", "seconds"}`, each line of standard output its outcome. The
caller has put the DAG files into the folder `dags`.
"""

import asyncio
import gc
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

HOME = Path(os.environ["AIRFLOW_HOME"])
DATABASE, EMPTY_DATABASE, DAGS = HOME / "airflow.db", HOME / "empty.db", HOME / "dags"
_FIRST_DAG = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("torpor_first_dag", schedule="@daily"):
    BashOperator(task_id="task", bash_command="echo {{ ds }}")
"""


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
    """Create the database once, and do what only the first run of a process does."""
    from airflow import settings  # noqa: PLC0415
    from airflow.utils.db import initdb  # noqa: PLC0415 - after the variables are set

    initdb()
    settings.dispose_orm()  # writes the log of SQLite into the file
    shutil.copy(DATABASE, EMPTY_DATABASE)
    import repeatable  # noqa: PLC0415 - a file beside this one; the package is not to be imported

    sys.path.remove(str(Path(__file__).parent))  # a DAG file may have the name of one of its modules
    repeatable.prepare_tasks()
    _skip_retry_delays()
    _end_triggers_in_time()
    _run_first_dag()
    settings.dispose_orm()
    from airflow.sdk.execution_time import supervisor  # noqa: PLC0415

    supervisor.in_process_api_server.cache_clear()
    gc.collect()  # ends the thread of the API, which a fork would not have
    supervisor.in_process_api_server().app._cadwyn_initialize()  # noqa: SLF001 - each DAG would build it, for seconds
    gc.freeze()


def _skip_retry_delays() -> None:
    """Let each retry follow at once: `dag.test()` would sleep for the whole delay."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.sdk import timezone  # noqa: PLC0415

    TaskInstance.next_retry_datetime = lambda instance: instance.end_date or timezone.utcnow()


def _end_triggers_in_time() -> None:
    """Let a trigger end at its timeout, as Airflow's scheduler does: `dag.test()` would wait for its event."""
    from airflow.sdk.definitions import dag  # noqa: PLC0415
    from airflow.sdk.execution_time import supervisor  # noqa: PLC0415

    run_task: Any = supervisor.run_task_in_process
    run_trigger: Any = dag._run_inline_trigger  # noqa: SLF001
    messages: list[Any] = []

    def run_and_keep_message(*args: Any, **kwargs: Any) -> Any:
        result = run_task(*args, **kwargs)
        messages[:] = [result.msg]
        return result

    def run_in_time(trigger: Any, instance: Any) -> Any:
        (message,) = messages
        if message.trigger_timeout is None:
            return run_trigger(trigger, instance)
        try:
            return run_trigger(_TimedTrigger(trigger, message.trigger_timeout.total_seconds()), instance)
        except _TriggerTimeoutError:
            message.next_method, message.next_kwargs = "__fail__", {"error": "Trigger timeout"}
            return None

    supervisor.run_task_in_process = run_and_keep_message
    dag._run_inline_trigger = run_in_time  # noqa: SLF001


class _TriggerTimeoutError(Exception):
    """The deferral has lasted for its timeout. A trigger may raise TimeoutError for reasons of its own."""


class _TimedTrigger:
    """Gives the first event of a trigger, if it has one, or raises _TriggerTimeoutError."""

    def __init__(self, trigger: Any, seconds: float) -> None:
        self._trigger = trigger
        self._seconds = seconds

    async def run(self) -> AsyncIterator[Any]:
        try:
            async with asyncio.timeout(self._seconds) as limit:
                event = await anext(self._trigger.run(), None)
        except TimeoutError:
            if limit.expired():
                raise _TriggerTimeoutError from None
            raise
        if event is not None:
            yield event


def _run_first_dag() -> None:
    """Run a DAG in this process, so that those after it find everything imported."""
    file = DAGS / "torpor_first_dag.py"
    file.write_text(_FIRST_DAG)
    request = {"module": file.stem, "path": str(file), "dag": file.stem, "conf": {}}
    _run(request | {"logical_date": "2026-01-01T00:00:00+00:00"})
    sys.path.remove(str(DAGS))
    del sys.modules[file.stem]
    file.unlink()


def _forked(request: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a request, which a process of its own runs."""
    for part in ("-wal", "-shm"):
        Path(f"{DATABASE}{part}").unlink(missing_ok=True)
    shutil.copy(EMPTY_DATABASE, DATABASE)
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

    settings.configure_orm()
    dag = _find(request)
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
