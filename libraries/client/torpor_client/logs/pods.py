"""The log of a pod, by the labels and the name that the operator gives it. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from torpor_views import json_fields
from torpor_wire import constants, names
from torpor_wire.enums import LogKind

from torpor_client.logs import log_text
from torpor_client.logs.source import LogSource, SourceKey

CONTAINER = "main"
"""The container that runs the task; injected sidecars have other names."""
_PATH = re.compile(r"\d{1,6}(?:\.\d{1,6})*")
_SECOND = 1_000_000_000


def key_of(pod: Mapping[str, Any], tasks: Iterable[str]) -> SourceKey | None:
    """Return what a pod executes; None if it is no pod of these tasks."""
    metadata = json_fields.fields(pod.get("metadata"))
    labels = json_fields.fields(metadata.get("labels"))
    index = json_fields.text(labels.get(constants.LABEL_INDEX))
    task = next((name for name in tasks if names.label(name) == labels.get(constants.LABEL_TASK)), None)
    numbers = names.pod_numbers(json_fields.text(metadata.get("name")))
    if task is None or numbers is None:
        return None
    path = tuple(map(int, index.split("."))) if _PATH.fullmatch(index) else ()
    return SourceKey(task, path, *numbers, LogKind.POD)


def of_pod(pod: Mapping[str, Any], tasks: Iterable[str]) -> LogSource | None:
    """Return the log of a pod; None if its container has not started, or if it is no pod of these tasks."""
    metadata, state = json_fields.fields(pod.get("metadata")), container_state(json_fields.fields(pod.get("status")))
    key, started = key_of(pod, tasks), log_text.nanoseconds_of_text(state.get("startedAt"))
    if key is None or started is None:
        return None
    finished = log_text.nanoseconds_of_text(state.get("finishedAt"))
    end = None if finished is None else finished + _SECOND  # the API server shows whole seconds
    uid, name = json_fields.text(metadata.get("uid")), json_fields.text(metadata.get("name"))
    return LogSource(key=key, start=started, end=end, id=uid, pod=name, running=finished is None)


def of_container(pod: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    """Return the pod as if `container`, an init container or a sidecar, were the container of the task."""
    if container == CONTAINER:
        return pod
    status = json_fields.fields(pod.get("status"))
    kinds = ("initContainerStatuses", "containerStatuses")
    statuses = [entry for kind in kinds for entry in json_fields.objects(status.get(kind))]
    chosen = [{**entry, "name": CONTAINER} for entry in statuses if entry.get("name") == container]
    return {**pod, "status": {**status, "containerStatuses": chosen}}


def container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return when the container of the task started, and when it ended if it has; empty before its start."""
    statuses = json_fields.objects(status.get("containerStatuses"))
    state = json_fields.fields(next((entry.get("state") for entry in statuses if entry.get("name") == CONTAINER), None))
    return json_fields.fields(state.get("running")) or json_fields.fields(state.get("terminated"))
