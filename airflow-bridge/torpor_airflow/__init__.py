"""The Airflow bridge: operators and triggers of Airflow's providers in Torpor, without an Airflow installation.

Importing the package prepares the environment of Airflow, so import it before Airflow. The core knows nothing of it.
"""

import os
from importlib import metadata

from torpor_airflow import environment

if _problem := environment.version_problem(metadata.version("apache-airflow-core")):
    raise ImportError(_problem)
environment.prepare(os.environ)
