"""How a run ended, from its objects and its archive."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torpor_wire import constants

from torpor_local import archived_results
from torpor_local.options import LocalRunOutcome, Object

_ENDED = frozenset({"Succeeded", "Failed"})


def has_ended(workflow: Mapping[str, Any]) -> bool:
    """Whether a run has ended and no clear is pending."""
    status = workflow.get("status") or {}
    cleared = (workflow["metadata"].get("annotations") or {}).get(constants.CLEAR)
    return bool(status.get("completionTime")) and status.get("state") in _ENDED and not cleared


def has_pending_notifications(workflow: Mapping[str, Any]) -> bool:
    """Whether the run has notifications that are not shown yet."""
    notifications = (workflow.get("status") or {}).get("notifications") or ()
    return any(each.get("state") == "Pending" for each in notifications)


def build(workflow: Object, objects: Mapping[str, Sequence[Object]]) -> LocalRunOutcome:
    """Return the outcome of a run. `objects` are by kind."""
    status = workflow.get("status") or {}
    conditions = status.get("conditions") or ()
    verdict: Mapping[str, Any] = next(
        (condition for condition in conditions if condition.get("type") == "Succeeded"), {}
    )
    return LocalRunOutcome(
        state=str(status.get("state") or "Pending"),
        reason=str(verdict.get("reason") or ""),
        workflow=workflow,
        results=results(taskruns(workflow, objects), {}),
        objects=objects,
    )


async def with_archived(ended: LocalRunOutcome, archive: Path) -> LocalRunOutcome:
    """Return an outcome with the results that are in the archive of its folder, as far as they fit into the memory.

    A cancellation returns the outcome without them: the run has ended, so there is nothing to cancel or to resume.
    """
    runs = taskruns(ended.workflow, ended.objects)
    try:
        values = await archived_results.read(archive, runs)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        return ended
    return replace(ended, results=results(runs, values)) if values else ended


def results(runs: Iterable[Mapping[str, Any]], archived: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results by task: a value, or the values of a mapped task in the order of its instances.

    `archived` has values by the uid of their TaskRun. Of others in the archive, the result is the description.
    """
    by_task: dict[str, list[tuple[list[int], Any]]] = {}
    for run in runs:
        path = [*(run["spec"].get("groupIndexes") or ()), int(run["spec"].get("mapIndex", constants.UNMAPPED))]
        by_task.setdefault(run["spec"]["task"], []).append((path, _result(run, archived)))
    return {task: _joined(instances) for task, instances in by_task.items()}


def taskruns(workflow: Mapping[str, Any], objects: Mapping[str, Sequence[Object]]) -> list[Object]:
    """Return the TaskRuns of the tasks of a run."""
    uid = workflow["metadata"]["uid"]
    return [
        run
        for run in objects.get("TaskRun", ())
        if run["spec"]["workflow"]["uid"] == uid and "notification" not in run["spec"]
    ]


def _result(taskrun: Mapping[str, Any], archived: Mapping[str, Any]) -> Any:
    """Return the result of an instance."""
    status, uid = taskrun.get("status") or {}, taskrun["metadata"]["uid"]
    text = status.get("result")
    return archived.get(uid, status.get("stored")) if text is None else json.loads(text)


def _joined(instances: list[tuple[list[int], Any]]) -> Any:
    if len(instances) == 1 and instances[0][0] == [constants.UNMAPPED]:
        return instances[0][1]
    return [value for _, value in sorted(instances, key=lambda instance: instance[0])]
