"""Runs operators and triggers of Airflow's providers in Torpor, against servers on loopback: `make airflow-real`."""
