"""Made-up Workflows and TaskRuns, as the operator and the triggerers would have left them. Deterministic."""

from dataclasses import dataclass
from random import Random
from typing import Any

from torpor_wire import constants, names, times

Object = dict[str, Any]
NUMBERS = {"attempt": 1, "segment": 0, "launch": 0}


def workflow(namespace: str, name: str, spec: Object, status: Object, **metadata: Any) -> Object:
    """A Workflow."""
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {"namespace": namespace, "name": name, **metadata},
        "spec": spec,
        "status": status,
    }


def verdict(state: str, message: str = "") -> list[Object]:
    """The condition Succeeded of a run in a state."""
    ended = {"Succeeded": "True", "Failed": "False", "Cancelled": "False"}
    reason = {"Succeeded": "Succeeded", "Failed": "TaskFailed", "Cancelled": "Cancelled"}.get(state, "Running")
    return [{"type": "Succeeded", "status": ended.get(state, "Unknown"), "reason": reason, "message": message}]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTimes:
    """When an instance is created; `at` seconds later each of its transitions follows the one before."""

    start: float
    pauses: tuple[float, ...] = (3.0, 40.0, 600.0, 30.0)

    def moments(self) -> list[str]:
        """The times of its transitions."""
        moment, moments = self.start, []
        for pause in self.pauses:
            moment += pause
            moments.append(times.rfc3339(moment))
        return moments


def taskrun(owner: Object, task: str, state: str, when: InstanceTimes, index: int | None = None, **more: Any) -> Object:
    """A TaskRun of a Workflow that ran, waited, and ran again, up to its state."""
    metadata = owner["metadata"]
    name = names.taskrun(metadata["name"], metadata["uid"], task, constants.UNMAPPED if index is None else index)
    labels = {
        constants.LABEL_WORKFLOW: names.label(metadata["name"]),
        constants.LABEL_TASK: names.label(task),
        constants.LABEL_INDEX: "unmapped" if index is None else str(index),
    }
    spec: Object = {"workflow": {"name": metadata["name"], "uid": metadata["uid"]}, "task": task}
    spec |= {"python": f"etl:{task}"} | ({} if index is None else {"mapIndex": index})
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {
            "namespace": metadata["namespace"],
            "name": name,
            "labels": labels,
            "creationTimestamp": times.rfc3339(when.start),
            "ownerReferences": [{"kind": "Workflow", "name": metadata["name"], "uid": metadata["uid"]}],
        },
        "spec": spec | more.pop("spec", {}),
        "status": _status(state, when.moments(), name) | more,
    }


def _status(state: str, moments: list[str], name: str) -> Object:
    ran, deferred, fired, ended = moments
    pod = names.pod(name, 1, 0, 0)
    running = {"state": "Running", "at": ran, "pod": pod, **NUMBERS}
    waiting = {"state": "Deferred", "at": deferred, "trigger": "http", **NUMBERS}
    again = [
        {"state": "Scheduled", "at": fired, **NUMBERS, "segment": 1},
        {"state": "Running", "at": fired, "pod": names.pod(name, 1, 1, 0), **NUMBERS, "segment": 1},
    ]
    trigger = {
        "class": "http",
        "kwargs": '{"url":"https://files.example.org/_SUCCESS"}',
        "key": "k1",
        "shard": 7,
        "waitsFor": "https://files.example.org/_SUCCESS",
    }
    started = {"startedAt": ran, "firstStartedAt": ran, "pod": {"name": pod}}
    match state:
        case "Scheduled":
            return {"state": state, **NUMBERS, "history": []}
        case "Running":
            return {"state": state, **NUMBERS, **started, "history": [running]}
        case "Deferred":
            deferral = {"deferredAt": deferred, "trigger": trigger, "deadline": ended}
            return {"state": state, **NUMBERS, **started, **deferral, "history": [running, waiting]}
        case _:
            last = {"state": state, "at": ended, **NUMBERS, "segment": 1}
            history = [running, waiting, *again, last]
            failed = {"reason": "TaskFailed", "message": "ValueError: row 17 has no date"} if state == "Failed" else {}
            ends = {"deferredAt": deferred, "firedAt": fired, "completionTime": ended, "result": '{"rows": 812}'}
            return {"state": state, **NUMBERS, "segment": 1, **started, **ends, "history": history, **failed}


def states(random: Random, count: int, weights: dict[str, int]) -> list[str]:
    """The states of so many instances."""
    return random.choices(list(weights), list(weights.values()), k=count)
