"""Airflow's own triggerer with a database of its own, as a process of the benchmark."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from torpor_demo.cluster import ROOT

from benchmarks.harness.processes import ChildProcess, running

PYTHON = ROOT / ".tools/airflow/bin/python"
"""The environment of `make airflow-venv`."""
_DATABASE = ROOT / "airflow-bridge/torpor_airflow/check/triggerer_database.py"
_OWN = ("_AIRFLOW__AS_LIBRARY", "AIRFLOW__")


@asynccontextmanager
async def started(
    folder: Path, class_path: str, kwargs: Mapping[str, Any], count: int, **environ: str
) -> AsyncIterator[ChildProcess]:
    """Start it in an existing folder, with so many waiting triggers. Its capacity is twice that, all else a default."""
    variables = _variables(folder) | environ
    await _prepare(variables, {"class": class_path, "kwargs": kwargs, "count": count})
    process = ChildProcess(
        name="airflow triggerer",
        log=folder / "triggerer.log",
        program=(str(PYTHON), "-m", "airflow", "triggerer", "--skip-serve-logs", "--capacity", str(2 * count)),
        environ=variables,
    )
    async with running(process):
        yield process


def _variables(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    return kept | {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db",
    }


async def _prepare(variables: Mapping[str, str], request: Mapping[str, Any]) -> None:
    with (Path(variables["AIRFLOW_HOME"]) / "database.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            str(PYTHON), str(_DATABASE), stdin=asyncio.subprocess.PIPE, stdout=log, stderr=log, env=variables
        )
        await process.communicate(json.dumps(request).encode())
    if process.returncode:
        raise SystemExit(f"Airflow's database could not be created: {log.name}")
