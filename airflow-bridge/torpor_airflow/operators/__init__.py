"""Operators and sensors of Airflow as python tasks of Torpor, run by Airflow's own task runner in the pod."""

from torpor_airflow.operators.task import AirflowOperator

__all__ = ["AirflowOperator"]
