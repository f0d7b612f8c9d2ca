"""TaskRuns of the run `etl`."""

from typing import Any

from torpor_wire import constants, names

from tests.unit.views.objects import python

Object = dict[str, Any]
MAPPED = python("load", "Running", expand=[{"name": "row", "over": [1, 2]}])


def instance(run: Object, state: str, index: int = 0, **parts: Any) -> Object:
    metadata = run["metadata"]
    spec = {"workflow": {"name": "etl", "uid": metadata["uid"]}, "task": "load", "mapIndex": index, "python": "a:b"}
    labels = {constants.LABEL_WORKFLOW: names.label("etl"), constants.LABEL_TASK: names.label("load")}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {
            "namespace": "data",
            "name": names.taskrun("etl", metadata["uid"], "load", index),
            "labels": labels,
            "managedFields": [{"manager": "x"}],
        },
        "spec": spec | parts.pop("spec", {}),
        "status": {"state": state, "attempt": 2, "segment": 0, "launch": 0, **parts},
    }
