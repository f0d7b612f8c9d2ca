"""The Airflow bridge: operators and triggers of Airflow's providers in Torpor, without an Airflow installation.

Importing the package prepares the environment of Airflow, so import it before Airflow. The core knows nothing of it.
"""

import os

from torpor_airflow import environment

environment.prepare(os.environ)
