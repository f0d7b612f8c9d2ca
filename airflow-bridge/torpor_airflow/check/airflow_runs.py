"""Starts the process that runs `dag.test()`, and hands it DAGs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torpor_local.options import LocalRunError

from torpor_airflow.check import airflow_process

_LOG_SHOWN = 2000
"""Characters of the log that an error shows."""
_OWN = ("_AIRFLOW__AS_LIBRARY", "AIRFLOW__")


class AirflowProcess:
    """Runs one DAG after the other."""

    def __init__(self, process: "subprocess.Popen[str]", dags: Path, log: Path) -> None:
        self._process = process
        self._dags = dags
        self._log = log
        self._is_ready = False

    def place(self, files: Mapping[str, Path]) -> None:
        """Replace the files of the DAG folder by copies of these, by their paths in it."""
        for old in self._dags.iterdir():
            old.unlink() if old.is_file() else shutil.rmtree(old)
        for path, file in files.items():
            (self._dags / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, self._dags / path)

    def wait(self) -> None:
        """Wait until Airflow can run DAGs. It uses the DAG folder itself before. Raises LocalRunError."""
        if not self._is_ready and not self._read_line():
            log = self._log.read_text(errors="replace")[-_LOG_SHOWN:]
            raise LocalRunError(f"Airflow did not start: {log}")
        self._is_ready = True

    def test(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the outcome of a DAG, with `error` if there is none."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        found: Mapping[str, Any] = json.loads(self._read_line() or '{"error": "Airflow has ended"}')
        return found

    def _read_line(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        return self._process.stdout.readline()


@contextmanager
def started(home: Path, log: Path, own: Mapping[str, str]) -> Iterator[AirflowProcess]:
    """Start an Airflow with a database in this folder, and stop it at the end. `own` are further variables."""
    dags = home / "dags"
    dags.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, str(airflow_process.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log.open("ab"),
        text=True,
        env={**variables(os.environ, home), **own},
    )
    try:
        yield AirflowProcess(process, dags, log)
    finally:
        process.terminate()
        process.wait()


def variables(environ: Mapping[str, str], home: Path) -> Mapping[str, str]:
    """Return the variables of an Airflow that is none of the bridge."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_OWN)}
    bundle = {"name": "dags", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle"}
    return kept | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
            [bundle | {"kwargs": {"path": str(home / "dags")}}]
        ),
    }
