"""The status of a pod as a kubelet writes it. Pure."""

from typing import Any

from torpor_operator.model.pod import FILES_CONTAINER
from torpor_wire import times

MESSAGE_MAX = 4096
LOG_TAIL = 2048
_LOG_LINES = 80
_SIGNALS = 128

Object = dict[str, Any]


def running(pod: Object, now: float) -> Object:
    """Return the status of a pod whose process has started."""
    state = {"running": {"startedAt": times.rfc3339(now)}}
    return {"phase": "Running", "startTime": times.rfc3339(now), "containerStatuses": _main_container(pod, state)}


def ended(pod: Object, code: int, message: str, now: float) -> Object:
    """Return the status of a pod whose process has ended. A negative code is the number of a signal, as in Python."""
    code = code if code >= 0 else _SIGNALS - code
    return terminated(pod, code, "Error" if code else "Completed", message, now)


def terminated(pod: Object, code: int, reason: str, message: str, now: float) -> Object:
    """Return the status of a pod that is over, with the reason of its container."""
    state = {"exitCode": code, "reason": reason, "message": message, "finishedAt": times.rfc3339(now)}
    return {
        "phase": "Failed" if code else "Succeeded",
        "startTime": times.rfc3339(now),
        "containerStatuses": _main_container(pod, {"terminated": state}),
    }


def not_fetched(message: str, now: float) -> Object:
    """Return the status of a pod whose init container could not fetch an input file."""
    ended = {"exitCode": 69, "reason": "Error", "message": message, "finishedAt": times.rfc3339(now)}
    fetching = container_status({"name": FILES_CONTAINER}, {"terminated": ended})
    return {"phase": "Failed", "startTime": times.rfc3339(now), "initContainerStatuses": [fetching]}


def disrupted(message: str, now: float) -> Object:
    """Return the status of a pod whose node was lost: the operator starts the segment again in a new pod."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": message}
    return {"phase": "Failed", "message": message, "startTime": times.rfc3339(now), "conditions": [condition]}


def message(written: bytes, log: bytes, code: int) -> str:
    """Return the termination message: what the process wrote to it, else the end of the log of a failed process.

    `written` has at most MESSAGE_MAX bytes, `log` the last LOG_TAIL bytes.
    """
    if written or not code:
        return written.decode(errors="replace")
    lines = log.decode(errors="replace").splitlines(keepends=True)
    return "".join(lines[-_LOG_LINES:])


def container_status(container: Object, state: Object) -> Object:
    """Return the entry of a container of the spec in the status of its pod."""
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
    }


def _main_container(pod: Object, state: Object) -> list[Object]:
    return [container_status(pod["spec"]["containers"][0], state)]
