"""Trigger classes of Airflow in a triggerer of Torpor."""
