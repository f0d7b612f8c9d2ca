"""Finds the pods that the objects of object tasks created, with the rights of the user and with few requests.

A right that the user lacks, or a limit that is reached, is reported once, and leaves the other logs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torpor_client.logs import object_pods, selection
from torpor_client.logs.object_pods import ObjectKind, OwnerReference
from torpor_client.logs.selection import Filter
from torpor_client.logs.source import LogSource, SourceKey
from torpor_views import json_fields
from torpor_views.model import InstanceView
from torpor_wire import constants, names

from torpor_cli.cluster.api import ApiClient, Object, ObjectSelection
from torpor_cli.cluster.errors import ClusterError, NotFoundError
from torpor_cli.cluster.resources import PODS, ApiResource

INSTANCES_MAX = 100
"""Instances of a kind whose objects are listed: their uids are in the URL."""
PAGES_MAX = 4
"""Pages of pods of the namespace that are read."""
OWNERS_MAX = 20
"""Objects between pods and objects of tasks that are read."""
PODS_MAX = 50


class ObjectLogs:
    """The logs of pods of objects in a namespace. What it has learned of owners is kept for the next list."""

    def __init__(self, api: ApiClient, namespace: str, container: str | None, note: Callable[[str], None]) -> None:
        self._api = api
        self._namespace = namespace
        self._container = container
        self._note = note
        self._noted: set[str] = set()
        self._resources: dict[ObjectKind, ApiResource | None] = {}
        self._owners: dict[str, Object] = {}
        self._reads = 0

    def list(self, taskruns: Iterable[Object], chosen: Filter) -> list[LogSource]:
        """Return the logs of the pods that belong to these TaskRuns now."""
        keys: dict[str, SourceKey] = {}
        for kind, instances in object_pods.created_kinds(taskruns).items():
            wanted = {uid: each for uid, each in instances.items() if _may_choose(chosen, each)}
            keys |= self._keys(kind, wanted) if wanted else {}
        if not keys:
            return []
        pods = self._pods()
        known = self._owners | {pod["metadata"]["uid"]: pod for pod in pods}
        found = ((pod, self._key(pod, keys, known)) for pod in pods)
        logs = [object_pods.log_source(pod, key, self._container) for pod, key in found if key is not None]
        sources = [each for each in logs if each is not None and selection.chooses(chosen, each)]
        if len(sources) > PODS_MAX:
            self._say(f"the objects have {len(sources)} pods, and the logs of the first {PODS_MAX} are shown")
        return sorted(sources, key=lambda source: (source.start, source.pod))[:PODS_MAX]

    def _keys(self, kind: ObjectKind, instances: Mapping[str, InstanceView]) -> dict[str, SourceKey]:
        """Return the objects of these instances, by uid."""
        uids = sorted(instances)[:INSTANCES_MAX]
        if len(instances) > len(uids):
            hint = "name an instance, such as RUN/TASK/3"
            self._say(f"of {len(instances)} objects of kind {kind.kind}, those of {len(uids)} are read: {hint}")
        try:
            resource = self._resource(kind)
            labels = f"{constants.LABEL_OBJECT_OF} in ({','.join(uids)})"
            chosen = ObjectSelection(resource=resource, namespace=self._namespace, labels=labels) if resource else None
            objects = [] if chosen is None else next(iter(self._api.pages(chosen))).items
        except ClusterError as error:
            self._say(f"logs of pods of kind {kind.kind} are not shown: {error}")
            return {}
        return object_pods.keys_of(objects, instances)

    def _pods(self) -> Sequence[Object]:
        """Return the pods of the namespace that are not those of tasks."""
        others = ObjectSelection(resource=PODS, namespace=self._namespace, labels=f"!{constants.LABEL_TASKRUN_UID}")
        pods: dict[str, Object] = {}
        for number, page in enumerate(self._api.pages(others), start=1):
            pods |= {pod["metadata"]["uid"]: pod for pod in page.items}
            if number == PAGES_MAX:
                self._say(f"only {len(pods)} pods of the namespace were read, and objects may have others")
                break
        return list(pods.values())

    def _key(self, pod: Object, keys: Mapping[str, SourceKey], known: dict[str, Object]) -> SourceKey | None:
        """Return what a pod belongs to, and read its owners if need be."""
        while True:
            found = object_pods.key_of_owned(pod, keys, known)
            if not isinstance(found, OwnerReference):
                return found
            owner = self._read(found)
            known[found.uid] = owner

    def _read(self, reference: OwnerReference) -> Object:
        """Return an owner; an empty object if it cannot be read, or is another one by now."""
        nothing: dict[str, Any] = {}
        if self._reads >= OWNERS_MAX or not names.is_object_name(reference.name):
            return nothing
        self._reads += 1
        try:
            resource = self._resource(ObjectKind(reference.api_version, reference.kind))
            owner = nothing if resource is None else self._api.get(resource, self._namespace, reference.name)
        except ClusterError:
            owner = nothing
        kept = owner if owner and owner["metadata"]["uid"] == reference.uid else nothing
        self._owners[reference.uid] = kept
        return kept

    def _resource(self, kind: ObjectKind) -> ApiResource | None:
        """Return the resource of a kind; None if the API server has none with a namespace."""
        if kind not in self._resources:
            self._resources[kind] = self._discovered(kind)
        return self._resources[kind]

    def _discovered(self, kind: ObjectKind) -> ApiResource | None:
        group, _, version = kind.api_version.rpartition("/")
        if not names.is_object_name(version) or (group and not names.is_object_name(group)):
            return None
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            served = self._api.http.json("GET", path)
        except NotFoundError:
            return None
        for entry in json_fields.objects(json_fields.fields(served).get("resources")):
            plural = json_fields.text(entry.get("name"))
            if entry.get("kind") == kind.kind and entry.get("namespaced") is True and "/" not in plural:
                return ApiResource(group=group, version=version, plural=plural, kind=kind.kind)
        return None

    def _say(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)


def _may_choose(chosen: Filter, instance: InstanceView) -> bool:
    """Whether the filter may choose an attempt of an instance."""
    task_fits = not chosen.task or instance.task == chosen.task
    return task_fits and (chosen.path is None or instance.path[: len(chosen.path)] == chosen.path)
