"""The pods of the object that an object task created, by their owners. Pure.

A pod of a Job has the Job as its owner. Between a pod and the object there may be others: the driver of a Spark
application, or the cluster of a RayJob.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torpor_views import json_fields
from torpor_views.model import InstanceView
from torpor_wire import constants
from torpor_wire.enums import LogKind, ObjectAction

from torpor_client.logs import log_text
from torpor_client.logs.pods import container_state, of_container
from torpor_client.logs.source import LogSource, SourceKey

OWNERS_MAX = 4
"""Objects between a pod and the object of a task, with that object."""
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_SECOND = 1_000_000_000


class OwnerReference(NamedTuple):
    """An owner of an object. Names are text of the object: check them before they are part of a path."""

    api_version: str
    kind: str
    name: str
    uid: str


class ObjectKind(NamedTuple):
    """The kind of the objects of some tasks."""

    api_version: str
    kind: str


def created_kinds(taskruns: Iterable[Mapping[str, Any]]) -> dict[ObjectKind, dict[str, InstanceView]]:
    """Return the kinds of objects that TaskRuns create, each with its instances by the uid of the TaskRun."""
    kinds: dict[ObjectKind, dict[str, InstanceView]] = {}
    for taskrun in taskruns:
        body = json_fields.fields(json_fields.fields(taskrun.get("spec")).get("object"))
        if not body or body.get("action", ObjectAction.CREATE) != ObjectAction.CREATE:
            continue
        kind = ObjectKind(json_fields.text(body.get("apiVersion")), json_fields.text(body.get("kind")))
        instance = InstanceView.parse(taskrun)
        kinds.setdefault(kind, {})[instance.uid] = instance
    return kinds


def keys_of(objects: Iterable[Mapping[str, Any]], instances: Mapping[str, InstanceView]) -> dict[str, SourceKey]:
    """Return what the objects with the marks of these instances belong to, by the uids of the objects."""
    keys: dict[str, SourceKey] = {}
    for item in objects:
        metadata = json_fields.fields(item.get("metadata"))
        marks = json_fields.fields(metadata.get("labels")), json_fields.fields(metadata.get("annotations"))
        instance = instances.get(json_fields.text(marks[0].get(constants.LABEL_OBJECT_OF)))
        attempt = json_fields.text(marks[1].get(constants.OBJECT_ATTEMPT))
        if instance is not None and attempt.isdecimal() and len(attempt) < len(str(2**31)):
            key = SourceKey(instance.task, instance.path, int(attempt), 0, 0, LogKind.POD)
            keys[json_fields.text(metadata.get("uid"))] = key
    return keys


def key_of_owned(
    item: Mapping[str, Any],
    keys: Mapping[str, SourceKey],
    known: Mapping[str, Mapping[str, Any]],
    left: int = OWNERS_MAX,
) -> SourceKey | OwnerReference | None:
    """Return what an object belongs to: the key of the object that owns it, or the owner that must be read first.

    `keys` are those of objects of tasks, `known` other objects, both by uid.
    """
    for owner in _owners(item):
        if owner.uid in keys:
            return keys[owner.uid]
        if left <= 1:
            continue
        if owner.uid not in known:
            return owner
        found = key_of_owned(known[owner.uid], keys, known, left - 1)
        if found is not None:
            return found
    return None


def log_source(pod: Mapping[str, Any], key: SourceKey, container: str | None) -> LogSource | None:
    """Return the log of one container of a pod; None if it has not started. Unset: the one that kubectl would show."""
    metadata, spec = json_fields.fields(pod.get("metadata")), json_fields.fields(pod.get("spec"))
    chosen = container or json_fields.text(json_fields.fields(metadata.get("annotations")).get(_DEFAULT_CONTAINER))
    names = [json_fields.text(each.get("name")) for each in json_fields.objects(spec.get("containers"))]
    chosen = chosen or next(iter(names), "")
    state = container_state(json_fields.fields(of_container(pod, chosen).get("status")))
    started = log_text.nanoseconds_of_text(state.get("startedAt"))
    if started is None:
        return None
    finished = log_text.nanoseconds_of_text(state.get("finishedAt"))
    return LogSource(
        key=key,
        start=started,
        end=None if finished is None else finished + _SECOND,
        id=json_fields.text(metadata.get("uid")),
        pod=json_fields.text(metadata.get("name")),
        running=finished is None,
        container=chosen,
    )


def _owners(item: Mapping[str, Any]) -> Iterator[OwnerReference]:
    text = json_fields.text
    for owner in json_fields.objects(json_fields.fields(item.get("metadata")).get("ownerReferences")):
        values = (text(owner.get(name)) for name in ("apiVersion", "kind", "name", "uid"))
        yield OwnerReference(*values)
