"""Runs a DAG in Airflow and its conversion in `torpor run`, and compares the states and the results."""
