"""Sensors for runs of other DAGs: they wait in the pool, so that a wait for another run holds no pod."""

from collections.abc import Mapping
from typing import Any

from torpor_airflow.conversion import operator_kind
from torpor_airflow.operators import dag_task
from torpor_airflow.operators.call import OperatorCall

TRIGGER = "airflow.providers.standard.triggers.external_task.WorkflowTrigger"
_SENSOR = "ExternalTaskSensor"


def prepare(operator: Any) -> None:
    """Let a sensor for another run defer instead of asking Airflow's API in the pod."""
    if not operator_kind.is_a(operator, _SENSOR):
        return
    if operator.is_mapped:
        operator.partial_kwargs["deferrable"] = True
    else:
        operator.deferrable = True


def arguments(call: OperatorCall, dag: Any, class_path: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a trigger. The logical dates of another DAG become the ticks that start its runs.

    They differ if the DAG has data intervals. That of the sensor and the other one must have them both. A task group
    becomes its tasks, because a run of Torpor has no groups of tasks.
    """
    if class_path != TRIGGER:
        return kwargs
    if kwargs.get("external_task_group_id") and call.external_tasks:
        kwargs = {**kwargs, "external_task_group_id": None, "external_task_ids": [*call.external_tasks]}
    if not (call.dag and call.is_scheduled and kwargs.get("logical_dates")):
        return kwargs
    return {**kwargs, "logical_dates": [dag_task.tick(dag, moment) for moment in kwargs["logical_dates"]]}
