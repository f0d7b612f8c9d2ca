"""Waits of Airflow for runs and tasks of other DAGs, which are runs of Torpor in the same namespace."""
