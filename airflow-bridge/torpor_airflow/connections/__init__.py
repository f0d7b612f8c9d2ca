"""Connections and variables of one wait or one pod, in every form that Airflow accepts."""
