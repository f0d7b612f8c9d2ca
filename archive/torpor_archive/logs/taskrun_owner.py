"""The run and the task of a TaskRun, from the API server's JSON. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunOwner:
    """What a log's entry has of its TaskRun. `workflow` is a uid."""

    uid: str
    workflow: str
    workflow_name: str
    task: str
    path: tuple[int, ...]
    pool: str
    created: str = ""


def parse_owner(taskrun: Mapping[str, Any]) -> TaskRunOwner | None:
    """Read a TaskRun of any version; None if it has no such fields."""
    match taskrun:
        case {
            "metadata": {"uid": str(uid)},
            "spec": {"workflow": {"uid": str(workflow), "name": str(name)}, "task": str(task)},
        }:
            spec = taskrun["spec"]
            pool = str(spec.get("triggerPool") or constants.DEFAULT_POOL)
            return TaskRunOwner(
                uid=uid,
                workflow=workflow,
                workflow_name=name,
                task=task,
                path=_path(spec),
                pool=pool,
                created=str(taskrun["metadata"].get("creationTimestamp") or ""),
            )
    return None


def _path(spec: Mapping[str, Any]) -> tuple[int, ...]:
    groups, index = spec.get("groupIndexes") or [], spec.get("mapIndex", constants.UNMAPPED)
    if not isinstance(groups, list) or not all(isinstance(number, int) for number in (*groups, index)):
        return ()
    return tuple(number for number in (*groups, index) if number >= 0)
