"""The fixture `torpor_run` for pytest: plays a workflow file, and returns its results and history.

    def test_ingest(torpor_run):
        done = torpor_run("ingest.yaml", params={"day": "2026-11-20"}, events={"drop": {"status": 200}}, skip_time=True)
        assert done.succeeded
        assert done.results["total"] == {"rows": 3}

Every pytest of an environment with this package loads this module, so it imports a run when a test uses the fixture.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from torpor_cli.local_run.recorded import RecordedRun


class TorporRun(Protocol):
    """The type of the fixture `torpor_run`."""

    def __call__(  # noqa: PLR0913 - keyword arguments, each with a default
        self,
        file: str | Path,
        *,
        params: Mapping[str, Any] | None = None,
        events: Mapping[str, Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        skip_time: bool = False,
        jobs: int = 4,
        python: str | None = None,
        triggers: Mapping[str, str] | None = None,
    ) -> "RecordedRun":
        """Play the Workflow of a file to its end. Python tasks run in the working directory.

        Args:
            file: The workflow file.
            params: Values of params.
            events: Events that answer triggers, by task, or by task and index as `load/3`.
            answers: Answers to approvals by the same names: `approved`, `rejected`, or
                `{"fields": {...}, "options": [...], "note": ..., "approved": ...}`.
            skip_time: Whether waits for a time and delays of retries end at once.
            jobs: How many tasks run at once.
            python: The interpreter of Python tasks; by default that of the test.
            triggers: Trigger classes of yours: name to `module:Class`, which the test can import.

        Raises:
            CliError: The file is invalid or needs a cluster. A run that fails raises nothing.
        """
        ...


@pytest.fixture
def torpor_run(tmp_path_factory: pytest.TempPathFactory) -> TorporRun:
    """Plays a workflow file without a cluster: `torpor_run("ingest.yaml", params={...}, events={...})`."""

    def run(  # noqa: PLR0913 - keyword arguments, each with a default
        file: str | Path,
        *,
        params: Mapping[str, Any] | None = None,
        events: Mapping[str, Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        skip_time: bool = False,
        jobs: int = 4,
        python: str | None = None,
        triggers: Mapping[str, str] | None = None,
    ) -> "RecordedRun":
        from torpor_cli.local_run import recorded  # noqa: PLC0415 - takes a second

        return recorded.record(
            str(file),
            folder=tmp_path_factory.mktemp("torpor-run"),
            python=python or sys.executable,
            params=params or {},
            events=events or {},
            answers=answers or {},
            skip_time=skip_time,
            jobs=jobs,
            triggers=triggers,
        )

    return run
