"""The object of an object task: what its manifest may contain, its name, and its marks (ADR 0075). Pure.

The operator checks a manifest before it creates the TaskRun, and the triggerer checks it again before it acts.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from torpor_wire import canonical, constants, names
from torpor_wire.enums import DeleteOnEnd, ObjectAction, ObjectEnd

Manifest: TypeAlias = Mapping[str, Any]

_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?v[a-z0-9]{1,30}")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_FORBIDDEN = {
    "namespace": "the object is in the namespace of the run",
    "ownerReferences": "the TaskRun is its owner",
    "finalizers": "an object that cannot be deleted would outlive its task",
    "uid": "the API server sets it",
    "resourceVersion": "the API server sets it",
    "selfLink": "the API server sets it",
    "managedFields": "the API server sets it",
    "deletionTimestamp": "the API server sets it",
}
_FORBIDDEN_KINDS = {
    ("v1", "Pod"): "a Pod is a task of its own: use a task with container",
    ("v1", "Secret"): "a Secret would be readable in the TaskRun: let the container of a task create or read it",
}
_PREFIX = f"{constants.GROUP}/"
_NAME_MAX = 44
"""Characters of a derived name: controllers append to it, and names of pods and Services have 63."""
OWNER_LABEL = constants.LABEL_OBJECT_OF
_DELETES = {
    DeleteOnEnd.ALWAYS: frozenset(ObjectEnd),
    DeleteOnEnd.ON_SUCCESS: frozenset({ObjectEnd.SUCCEEDED}),
    DeleteOnEnd.ON_FAILURE: frozenset({ObjectEnd.FAILED, ObjectEnd.TIMED_OUT, ObjectEnd.CANCELLED}),
    DeleteOnEnd.ON_CANCEL: frozenset({ObjectEnd.TIMED_OUT, ObjectEnd.CANCELLED}),
    DeleteOnEnd.NEVER: frozenset[ObjectEnd](),
}


def problem(manifest: object, action: ObjectAction) -> str | None:
    """Return why a task may not act on this object, as a sentence; None if it may try."""
    if not isinstance(manifest, Mapping):
        return "the manifest is not an object with apiVersion, kind and metadata"
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or _API_VERSION.fullmatch(api_version) is None:
        return f"apiVersion is {_shown(api_version)}; write a version such as batch/v1"
    if not isinstance(kind, str) or _KIND.fullmatch(kind) is None:
        return f"kind is {_shown(kind)}; write a kind such as Job"
    if api_version.partition("/")[0] == constants.GROUP:
        return f"{kind} is a kind of Torpor: use a task with run, or a Schedule"
    if (why := _FORBIDDEN_KINDS.get((api_version, kind))) is not None:
        return why
    metadata = manifest.get("metadata", {})
    return _metadata_problem(metadata, action) if isinstance(metadata, Mapping) else "metadata is not an object"


def _metadata_problem(metadata: Manifest, action: ObjectAction) -> str | None:
    for field, why in _FORBIDDEN.items():
        if field in metadata:
            return f"remove metadata.{field}: {why}"
    for field in ("labels", "annotations"):
        entries = metadata.get(field) or {}
        if not isinstance(entries, Mapping):
            return f"metadata.{field} is not an object"
        if (own := next((name for name in entries if str(name).startswith(_PREFIX)), None)) is not None:
            return f"remove {str(own)[:100]} of metadata.{field}: Torpor marks the object with it"
    for field in ("name", "generateName"):
        if not _is_name(metadata.get(field), prefix=field == "generateName"):
            return f"metadata.{field} is {_shown(metadata[field])}, which is not a name of an object"
    if "name" in metadata and "generateName" in metadata:
        return "metadata has name and generateName: remove one"
    if action is not ObjectAction.CREATE and "name" not in metadata:
        return f"metadata.name is missing: {action} needs the name of the object"
    return None


def _is_name(value: object, *, prefix: bool) -> bool:
    if value is None:
        return True
    return isinstance(value, str) and names.is_object_name(value.rstrip("-.") if prefix else value)


def _shown(value: object) -> str:
    return "missing" if value is None else canonical.plain(value)[:100]


def object_name(manifest: Manifest, taskrun: str, uid: str, attempt: int) -> str:
    """Return the name of the object: that of the manifest, or one that follows from the attempt of the TaskRun.

    A repeated creation of one attempt therefore finds the first object, and the next attempt creates another.
    """
    metadata = manifest.get("metadata") or {}
    if isinstance(name := metadata.get("name"), str):
        return name
    prefix = str(metadata.get("generateName") or taskrun)
    tail = f"-{canonical.digest(uid, attempt)[:8]}"
    return prefix[: _NAME_MAX - len(tail)].rstrip("-.") + tail


def marked(  # noqa: PLR0913 - the identity of the attempt
    manifest: Manifest, *, namespace: str, taskrun: str, uid: str, attempt: int, owned: bool
) -> dict[str, Any]:
    """Return the object to create: with its name, the marks of the attempt, and the TaskRun as its owner if `owned`."""
    metadata = dict(manifest.get("metadata") or {})
    metadata.pop("generateName", None)
    labels = {**(metadata.get("labels") or {}), constants.LABEL_OBJECT_OF: uid}
    annotations = {**(metadata.get("annotations") or {}), constants.OBJECT_ATTEMPT: str(attempt)}
    metadata |= {
        "name": object_name(manifest, taskrun, uid, attempt),
        "namespace": namespace,
        "labels": labels,
        "annotations": annotations,
    }
    if owned:
        owner = {"apiVersion": constants.API_VERSION, "kind": "TaskRun", "name": taskrun, "uid": uid}
        metadata["ownerReferences"] = [owner]
    return {**manifest, "metadata": metadata}


def named(manifest: Manifest, namespace: str) -> dict[str, Any]:
    """Return the manifest of an object that others may have created, for `apply` and `patch`."""
    return {**manifest, "metadata": {**(manifest.get("metadata") or {}), "namespace": namespace}}


def is_of_attempt(stored: Manifest, uid: str, attempt: int) -> bool:
    """Return whether this attempt of the TaskRun created a stored object."""
    metadata = stored.get("metadata") or {}
    is_of_taskrun = (metadata.get("labels") or {}).get(constants.LABEL_OBJECT_OF) == uid
    return is_of_taskrun and (metadata.get("annotations") or {}).get(constants.OBJECT_ATTEMPT) == str(attempt)


def is_owned(policy: DeleteOnEnd) -> bool:
    """Return whether the TaskRun owns the object, so that it is deleted with its run at the latest."""
    return policy is not DeleteOnEnd.NEVER


def deletes(policy: DeleteOnEnd, end: ObjectEnd) -> bool:
    """Return whether the object is deleted after this end of the task."""
    return end in _DELETES[policy]


def identity(stored: Manifest) -> dict[str, Any]:
    """Return what identifies a stored object: the event of a task without `result`."""
    metadata = stored.get("metadata") or {}
    fields = {field: metadata.get(field) for field in ("name", "namespace", "uid", "resourceVersion")}
    return {"apiVersion": stored.get("apiVersion"), "kind": stored.get("kind"), **fields}


def shown(stored: Manifest, api_version: str, kind: str) -> dict[str, Any]:
    """Return an object as expressions see it: as `kubectl get -o yaml` shows it, without managedFields."""
    metadata = {name: value for name, value in (stored.get("metadata") or {}).items() if name != "managedFields"}
    return {"apiVersion": api_version, "kind": kind, **stored, "metadata": metadata}


def can_i(verb: str, resource: str, namespace: str, account: str, names_of: Sequence[str] = ()) -> str:
    """Return the command that shows whether an account has a right; empty if a name is unsafe for a shell."""
    parts = (resource, namespace, account, *names_of)
    if not all(names.is_object_name(part) for part in parts):
        return ""
    return f"kubectl auth can-i {verb} {resource} -n {namespace} --as=system:serviceaccount:{namespace}:{account}"
