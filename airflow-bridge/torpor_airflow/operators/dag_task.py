"""Finds an operator in a DAG file, which is imported as Airflow's own worker imports it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from airflow.sdk import Asset

from torpor_airflow import dag_module
from torpor_airflow.operators.call import OperatorCall
from torpor_airflow.operators.task_instance import InvalidOperatorError

_INTERVAL_TIMETABLES = {"CronDataIntervalTimetable", "DeltaDataIntervalTimetable"}


def find(call: OperatorCall) -> Any:
    """Return the operator, whose DAG has the params of the run. Raises InvalidOperatorError."""
    module, _, dag_id = call.dag.partition(":")
    try:
        dags = {dag.dag_id: dag for dag in dag_module.load(module)}
    except dag_module.DagFileError as error:
        raise InvalidOperatorError(str(error)) from error
    dag = dags.get(dag_id)
    if dag is None:
        raise InvalidOperatorError(f"there is no DAG {dag_id} in {module}; it has {', '.join(sorted(dags))}")
    if not dag.has_task(call.task):
        raise InvalidOperatorError(f"the DAG {dag_id} has no task {call.task} now; convert the file again")
    for name, value in call.params.items():
        dag.params[name] = value
    operator = dag.get_task(call.task)
    if not operator.is_mapped:
        operator.resolve_template_files()  # as Airflow's DAG processor does
    return operator


def assets(call: OperatorCall) -> Sequence[Any]:
    """Return the assets that the tasks of the module update."""
    dags = dag_module.load(call.dag.partition(":")[0])
    outlets = [each for dag in dags for task in dag.tasks for each in task.outlets or ()]
    return [each for each in outlets if isinstance(each, Asset)]


def complete(call: OperatorCall, dag: Any) -> OperatorCall:
    """Return the call with the data interval and the logical date that the timetable of the DAG has for this moment."""
    if call.logical_date is None or call.data_interval is not None:
        return call
    start, end = interval(dag, call.logical_date)
    first = call.is_scheduled and type(dag.timetable).__name__ in _INTERVAL_TIMETABLES
    return replace(call, data_interval=(start, end), logical_date=start if first else call.logical_date)


def interval(dag: Any, moment: datetime) -> tuple[datetime, datetime]:
    """Return the data interval of a run at this moment: the moment itself unless the timetable has intervals."""
    if type(dag.timetable).__name__ not in _INTERVAL_TIMETABLES:
        return moment, moment
    from airflow.sdk import timezone  # noqa: PLC0415

    found = _timetable(dag).infer_manual_data_interval(run_after=timezone.coerce_datetime(moment))
    return found.start, found.end


def tick(dag: Any, logical_date: datetime) -> datetime:
    """Return when a Schedule starts the run with this logical date: at the end of its data interval, if it has one."""
    if type(dag.timetable).__name__ not in _INTERVAL_TIMETABLES:
        return logical_date
    from airflow.sdk import timezone  # noqa: PLC0415

    found: datetime = _timetable(dag)._get_next(timezone.coerce_datetime(logical_date))  # noqa: SLF001 - no public form
    return found


def _timetable(dag: Any) -> Any:
    from airflow.serialization.encoders import (  # noqa: PLC0415 - Airflow's core takes seconds to import
        coerce_to_core_timetable,
    )

    return coerce_to_core_timetable(dag.timetable)
