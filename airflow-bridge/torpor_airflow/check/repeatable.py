"""Makes two runs of a DAG comparable and quick: the same random choices, and short pauses of sensors.

Both processes that run operators use it. It must not import `torpor_airflow`: the process of Airflow loads it, too.
"""

import random
import time
from types import SimpleNamespace
from typing import Any

from airflow.sdk.bases import sensor
from airflow.sdk.execution_time import task_runner

PAUSE_SECONDS_MAX = 0.5
STARTUP_CODE = "import random\nrandom.seed(0)\n"
"""A `sitecustomize` for the interpreters that operators start."""


def prepare_tasks() -> None:
    """Seed the random numbers of each task, and let sensors poke at least twice a second. Timeouts stay as they are."""
    execute: Any = task_runner._execute_task  # noqa: SLF001 - the call of the operator alone

    def execute_seeded(*args: Any, **kwargs: Any) -> Any:
        random.seed(0)
        return execute(*args, **kwargs)

    task_runner._execute_task = execute_seeded  # noqa: SLF001
    sensor.time = SimpleNamespace(monotonic=time.monotonic, sleep=_pause)


def _pause(seconds: float) -> None:
    time.sleep(min(seconds, PAUSE_SECONDS_MAX))
