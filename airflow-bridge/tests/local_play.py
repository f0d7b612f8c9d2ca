"""Plays a Workflow in this process, with the triggers of Airflow and with real pods as processes."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_local import engine
from torpor_local.options import LocalRunOutcome, Options

RULE = {"airflow.providers.**": "torpor_airflow.triggers.catalog:load_classes"}
SECONDS_MAX = 600.0
"""A run that hangs ends the test."""


class _Unseen:
    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        pass


async def play(
    folder: Path,
    *tasks: Mapping[str, Any],
    python: str = sys.executable,
    templates: Sequence[Mapping[str, Any]] = (),
    rules: Mapping[str, str] = RULE,
    **spec: Any,
) -> LocalRunOutcome:
    """Return how a run with these tasks ended, whose pods this interpreter runs."""
    workflow = {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run", "namespace": "default"},
        "spec": {"image": "any:1", "tasks": list(tasks), **spec},
    }
    options = Options(folder=folder / "run", python=python, working_directory=folder, triggers=rules)
    async with asyncio.timeout(SECONDS_MAX):
        return await engine.play([*templates, workflow], options, _Unseen())


def statuses(outcome: LocalRunOutcome) -> dict[str, dict[str, Any]]:
    """Return the status of the TaskRun of each task."""
    return {run["spec"]["task"]: run["status"] for run in outcome.objects["TaskRun"]}
