"""The rules of writing: names and metadata, the status subresource, deletion and its finalizers, owners.

It raises `DeniedError` with the status code that the API server would answer.
"""

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client.resources import CONFIG_MAPS, Resource
from torpor_kubernetes.timing import Clock

from torpor_local.apiserver import config_maps, json_patch
from torpor_local.apiserver.history import History, Object, ObjectAddress, cloned, collection, copied

FRESH_STATUS: dict[str, Object | None] = {
    "Workflow": None,
    "Schedule": None,
    "Backfill": None,
    "TaskRun": {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []},
    "Pod": {"phase": "Pending"},
}
"""What a new object of a kind with a status subresource has for status."""

Rule = Callable[[Object | None, Object], str | None]
"""From the former object, if any, and the new one to what is wrong with it."""


FOREGROUND = "foregroundDeletion"


class DeniedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, reason: str, message: str, *, causes: bool = False) -> None:
        super().__init__(message)
        details = {"causes": [{"reason": "FieldValueInvalid", "message": message}]} if causes else {}
        self.code = code
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": int(code),
        }


def missing(what: str) -> DeniedError:
    """Return the error for something that does not exist."""
    return DeniedError(HTTPStatus.NOT_FOUND, "NotFound", f"{what} not found")


class ObjectRegistry:
    """What may be written, and what follows from it."""

    def __init__(self, history: History, clock: Clock) -> None:
        self.history = history
        self.rules: dict[str, Rule] = {CONFIG_MAPS.kind: config_maps.problem}
        self.graceful_pods = False
        self.nodes = False
        self.collects_at_once = True
        self._clock = clock
        self._numbers = itertools.count(1)
        self.new_uid: Callable[[int], str] = "00000000-0000-4000-8000-{:012}".format
        """The uid of the object with this number."""
        self.new_suffix: Callable[[int], str] = "{:05}".format
        """What follows `generateName` for the object with this number."""

    def create(self, resource: Resource, namespace: str, body: Object, *, status: bool = False) -> Object:
        """POST; `status` keeps the status that the body has, for objects that begin in the middle."""
        item = copied(body)
        meta = item.setdefault("metadata", {})
        number = next(self._numbers)
        if not meta.get("name"):
            if not meta.get("generateName"):
                raise DeniedError(
                    HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", "metadata.name: Required value", causes=True
                )
            meta["name"] = meta["generateName"] + self.new_suffix(number)
        address = self.address(resource, namespace, meta["name"])
        if self.history.get(address):
            message = f'{resource.plural} "{address.name}" already exists'
            raise DeniedError(HTTPStatus.CONFLICT, "AlreadyExists", message)
        if namespace:
            meta["namespace"] = namespace
        meta |= {"uid": self.new_uid(number), "creationTimestamp": self._stamp(), "generation": 1}
        item |= {"apiVersion": resource.api_version, "kind": resource.kind}
        if resource.kind in FRESH_STATUS and not status:
            fresh = FRESH_STATUS[resource.kind]
            item.pop("status", None)
            item |= {} if fresh is None else {"status": fresh}
        item = _pruned(item)
        self._check(resource, None, item)
        return self.history.put(address, item)

    def replace(self, resource: Resource, address: ObjectAddress, body: Object, subresource: str) -> Object:
        """PUT, and the second half of PATCH."""
        before = self.existing(address)
        after = _pruned(copied(body))
        version = (after.get("metadata") or {}).get("resourceVersion")
        if version and version != before["metadata"]["resourceVersion"]:
            message = f'the object "{address.name}" has been modified; please apply your changes to the latest version'
            raise DeniedError(HTTPStatus.CONFLICT, "Conflict", message)
        if subresource == "status":
            after = before | {"status": after.get("status", {})}
        elif resource.kind in FRESH_STATUS:
            after = {key: value for key, value in after.items() if key != "status"}
            after |= {"status": before["status"]} if "status" in before else {}
        after["metadata"] = cloned(after["metadata"]) | {
            key: before["metadata"][key] for key in _KEPT if key in before["metadata"]
        }
        if after["metadata"].get("managedFields") == [{}]:  # as the API server: it ends the record
            del after["metadata"]["managedFields"]
        if after.get("spec") != before.get("spec"):
            after["metadata"]["generation"] += 1
        if after == before:
            return before
        self._check(resource, before, after)
        stored = self.history.put(address, after)
        self._finish(address)
        return stored

    def patch(self, resource: Resource, address: ObjectAddress, ops: list[Object], subresource: str) -> Object:
        """PATCH with a JSON Patch. Raises DeniedError."""
        try:
            patched = json_patch.apply(self.existing(address), ops)
        except json_patch.PatchError as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise DeniedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message) from error
        return self.replace(resource, address, patched, subresource)

    def delete(self, address: ObjectAddress, options: Mapping[str, Any]) -> Object:
        """DELETE: at once, or when the last finalizer goes (of a pod, when it has stopped, if they are graceful)."""
        item = self.existing(address)
        meta = item["metadata"]
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != meta["uid"]:
            message = f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']})"
            raise DeniedError(HTTPStatus.CONFLICT, "Conflict", message)
        version = (options.get("preconditions") or {}).get("resourceVersion")
        if version and version != meta["resourceVersion"]:
            message = f"the ResourceVersion in the precondition ({version}) does not match that in record"
            raise DeniedError(HTTPStatus.CONFLICT, "Conflict", message)
        if options.get("propagationPolicy") == "Foreground" and self._dependents(meta["uid"]):
            meta = meta | {"finalizers": [*meta.get("finalizers", []), FOREGROUND]}
        grace = self._grace(item, options)
        if not meta.get("finalizers") and not grace:
            self.history.drop(address)
            self._orphaned()
        elif "deletionTimestamp" not in meta:
            deletion = {"deletionTimestamp": self._stamp(grace), "deletionGracePeriodSeconds": grace}
            self.history.put(address, item | {"metadata": meta | deletion})
            self._orphaned()
        elif meta.get("deletionGracePeriodSeconds") and not grace:
            self.history.put(address, item | {"metadata": meta | {"deletionGracePeriodSeconds": 0}})
        return item

    def _grace(self, item: Object, options: Mapping[str, Any]) -> int:
        """How long a pod may take to stop; none where no process of it can be running."""
        started = item.get("spec", {}).get("nodeName") or not self.nodes
        if not self.graceful_pods or item["kind"] != "Pod" or not started:
            return 0
        if item.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
            return 0
        requested = options.get("gracePeriodSeconds")
        return int(item["spec"].get("terminationGracePeriodSeconds", 30) if requested is None else requested)

    def edit(self, address: ObjectAddress, merge: Object) -> Object:
        """Merge values into an object, status and all, as no client could; null removes."""
        before = self.existing(address)
        after = _merged(before, copied(merge))
        if after.get("spec") != before.get("spec") and "generation" not in merge.get("metadata", {}):
            after["metadata"] = after["metadata"] | {"generation": before["metadata"]["generation"] + 1}
        self.history.put(address, after)
        self._finish(address)
        return self.history.get(address) or {}

    def collect_garbage(self, options: Mapping[str, Any] | None = None) -> None:
        """Delete what has owners of which none is left or that wait for it, as the garbage collector does."""
        self._clear_foreground(options)
        uids = {item["metadata"]["uid"] for _, item in self.history.items()}
        for address, item in self.history.items():
            owners = item["metadata"].get("ownerReferences")
            if owners and self.history.get(address) and not any(owner["uid"] in uids for owner in owners):
                self.delete(address, {"gracePeriodSeconds": 0} if options is None else options)

    def _clear_foreground(self, options: Mapping[str, Any] | None) -> None:
        """What is deleted in the foreground goes after what it owns."""
        for address, item in self.history.items():
            meta = item["metadata"]
            if FOREGROUND not in meta.get("finalizers", []):
                continue
            for dependent in self._dependents(meta["uid"]):
                if "deletionTimestamp" not in self.existing(dependent)["metadata"]:
                    self.delete(dependent, {"gracePeriodSeconds": 0} if options is None else options)
            if not self._dependents(meta["uid"]):
                kept = [finalizer for finalizer in meta["finalizers"] if finalizer != FOREGROUND]
                self.history.put(address, item | {"metadata": meta | {"finalizers": kept}})
                self._finish(address)

    def _dependents(self, uid: str) -> list[ObjectAddress]:
        owned = [(address, item["metadata"].get("ownerReferences", [])) for address, item in self.history.items()]
        return [address for address, owners in owned if any(owner["uid"] == uid for owner in owners)]

    def _orphaned(self) -> None:
        if self.collects_at_once:
            self.collect_garbage()

    def existing(self, address: ObjectAddress) -> Object:
        """Return an object. Raises DeniedError if there is none."""
        item = self.history.get(address)
        if item is None:
            raise missing(f'{address.kind.rpartition("/")[2]} "{address.name}"')
        return item

    @staticmethod
    def address(resource: Resource, namespace: str, name: str) -> ObjectAddress:
        """Return the address of an object."""
        return ObjectAddress(collection(resource), namespace, name)

    def _finish(self, address: ObjectAddress) -> None:
        item = self.history.get(address)
        meta = item["metadata"] if item else {}
        if "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds"):
            self.history.drop(address)
            self._orphaned()

    def _check(self, resource: Resource, before: Object | None, after: Object) -> None:
        rule = self.rules.get(resource.kind)
        if rule and (wrong := rule(before, after)):
            message = f'{resource.kind} "{after["metadata"]["name"]}" is invalid: {wrong}'
            raise DeniedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, causes=True)

    def _stamp(self, later: float = 0.0) -> str:
        return datetime.fromtimestamp(self._clock.now() + later, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_KEPT = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
)


def _pruned(item: Object) -> Object:
    """Without nulls, which the API server does not store but where the schema allows any value: in Workflow.spec."""
    free = {"spec": item["spec"]} if item.get("kind") == "Workflow" and "spec" in item else {}
    return {key: _without_nulls(value) for key, value in item.items() if value is not None} | free


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(new, dict):
        return new
    kept = old if isinstance(old, dict) else {}
    merged = kept | {key: _merged(kept.get(key), value) for key, value in new.items()}
    return {key: value for key, value in merged.items() if value is not None}
