"""Runs the bare client of `bare` on the same patches at the same times."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlencode

from torpor_crds.models.taskrun import TaskRun
from torpor_demo.cluster import ROOT
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_triggerer.settings import CONCURRENCY
from torpor_triggerer.sharding import assignment
from torpor_wire import constants, transitions

from benchmarks.harness.control_plane import NAMESPACE, ControlPlane
from benchmarks.triggerer.bare import BareWork, TimedPatch

AHEAD = 8.0
"""Seconds in which it is up and has read its work."""


async def patched(plane: ControlPlane, taskruns: Mapping[str, TaskRun], due: Mapping[str, float]) -> None:
    """Fire each of these as soon as it is due, which is not before `AHEAD`. Raises SystemExit where it fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(asdict(_work(plane, taskruns, due))))
        file.flush()
        process = await asyncio.create_subprocess_exec(
            ROOT / ".venv/bin/python", "-m", "benchmarks.triggerer.bare", file.name, cwd=ROOT
        )
        if await process.wait():
            raise SystemExit("the bare client failed")


def _work(plane: ControlPlane, taskruns: Mapping[str, TaskRun], due: Mapping[str, float]) -> BareWork:
    whole = assignment.selector(constants.DEFAULT_POOL, frozenset(range(constants.SHARDS)))
    query = {"watch": "1", "fieldSelector": whole, "allowWatchBookmarks": "true"}
    return BareWork(
        url=plane.server,
        authority=str(plane.account("triggerer") / "ca.crt"),
        token=Path(plane.account("triggerer") / "token").read_text(),
        concurrency=CONCURRENCY,
        watch=f"{TASKRUNS.path(None)}?{urlencode(query)}",
        patches=[
            TimedPatch(
                due[name],
                f"{TASKRUNS.path(NAMESPACE, name, 'status')}?fieldManager={constants.FIELD_MANAGER}",
                _fire(taskruns[name], due[name]),
            )
            for name in due
        ],
    )


def _fire(run: TaskRun, moment: float) -> str:
    wait = run.status.trigger
    event = json.loads(wait.kwargs)["at"] if wait else None
    return json.dumps(transitions.fire(run.pin(), json.dumps(event), deferred=10.0, now=moment))
