"""JSON Patches of Workflows, TaskRuns and Schedules with their preconditions. Pure.

Whoever sends one repeats it with the current object after a lost race.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from torpor_wire import constants

Object: TypeAlias = dict[str, Any]
Operations: TypeAlias = list[dict[str, Any]]


def same_object(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operation that fails if another object has taken the name."""
    return {"op": "test", "path": "/metadata/uid", "value": item["metadata"]["uid"]}


def annotate(item: Mapping[str, Any], annotations: Mapping[str, str]) -> Operations:
    """Return the operations that set annotations and keep all others."""
    if not annotations:
        return []
    if item["metadata"].get("annotations"):
        return [
            {"op": "add", "path": f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}", "value": value}
            for key, value in annotations.items()
        ]
    version = item["metadata"]["resourceVersion"]  # another writer may add the first annotation meanwhile
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/metadata/annotations", "value": dict(annotations)},
    ]


def set_spec(workflow: Mapping[str, Any], values: Mapping[str, Any], user: str) -> Operations:
    """Return the operations that set fields of a Workflow's spec, and the annotation that says who did."""
    generation = int(workflow["metadata"].get("generation") or 0)
    pinned = [{"op": "test", "path": "/metadata/generation", "value": generation}]
    changes = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in values.items()]
    by = {constants.CHANGED_BY: f"{generation + 1} {user}"} if user else {}
    return [*pinned, *changes, *annotate(workflow, by)]


def set_field(field: str, value: Any) -> Operations:
    """Return the operation that sets a field of the spec of a Schedule or a Backfill."""
    return [{"op": "add", "path": f"/spec/{field}", "value": value}]
