"""The run that a folder has: of a local run that ended, or whose process was killed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_views.model import RunView

from torpor_cli import errors
from torpor_cli.local_run import play

Object = dict[str, Any]
_JOURNAL = "state.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A Workflow with its TaskRuns and the results by task. `now` is when the folder was last written."""

    workflow: Object
    taskruns: Sequence[Object]
    results: Mapping[str, Any]
    now: float

    def parse(self) -> RunView:
        """Return the run for the views."""
        return RunView.parse(self.workflow, self.taskruns, now=self.now)


def read(folder: Path) -> StoredRun:
    """Read the run of a folder. Raises UsageError if there is none."""
    play.check_installed()
    from torpor_local import folder as folders  # noqa: PLC0415 - an extra of this package
    from torpor_local import journal, outcome  # noqa: PLC0415

    path = folder / _JOURNAL
    saved = journal.read(path)
    workflows = [] if saved is None else saved.of_kind("Workflow")
    if saved is None or not workflows:
        raise errors.UsageError(f"{folder} has no run; the folders of runs are in .torpor/runs")
    found = next(one for one in workflows if saved.workflow is None or one["metadata"]["name"] == saved.workflow[1])
    taskruns = saved.of_kind("TaskRun")
    ended = outcome.build(found, {"TaskRun": taskruns})
    built = asyncio.run(outcome.with_archived(ended, folders.archive_file(folder)))
    return StoredRun(workflow=found, taskruns=taskruns, results=built.results, now=path.stat().st_mtime + saved.offset)
