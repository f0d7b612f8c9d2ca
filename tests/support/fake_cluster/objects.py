"""What the fake cluster holds: objects as JSON, logs of pods, logs of the archive."""

from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants, names

Object = dict[str, Any]
NAMESPACE = "team"


@dataclass(slots=True)
class ContainerLog:
    """The lines of a container, each with its timestamp. `open`: the container still runs."""

    lines: list[str] = field(default_factory=list)
    open: bool = False
    breaks: int = 0
    """Requests with follow that end although the container runs."""


@dataclass(slots=True)
class ArchivedLog:
    """An item of the archive's list of logs, and its lines."""

    item: Object
    lines: list[str] = field(default_factory=list)


def taskrun(run: str, task: str, *path: int, state: str = "Succeeded", **status: Any) -> Object:
    """The JSON of a TaskRun."""
    index = path[0] if path else constants.UNMAPPED
    name = names.taskrun(run, f"uid-{run}", task, index)
    labels = {constants.LABEL_WORKFLOW: run, constants.LABEL_TASK: names.label(task)}
    metadata: Object = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "labels": labels}
    metadata["ownerReferences"] = [{"kind": "Workflow", "name": run, "uid": f"uid-{run}"}]
    metadata["creationTimestamp"] = "2026-11-22T10:00:00Z"
    spec: Object = {"workflow": {"name": run, "uid": f"uid-{run}"}, "task": task}
    if path:
        spec["mapIndex"] = index
    body = {"metadata": metadata, "spec": spec, "status": {"state": state, "attempt": 1, **status}}
    return {"apiVersion": constants.API_VERSION, "kind": "TaskRun", **body}
