"""Identifies one object of any kind, and what the operator does with it. Pure."""

from typing import Any, NamedTuple


class ObjectRef(NamedTuple):
    """An object. An object of the same name that is created later has another uid.

    `reading`: the operator parses the object; otherwise it reconciles it.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    reading: bool = False

    def __str__(self) -> str:
        """For messages: `Workflow team/ingest`."""
        return f"{self.kind} {self.namespace}/{self.name}"


def read_ref(value: object) -> ObjectRef | None:
    """Read a reference from JSON. Returns None if it is none."""
    match value:
        case [str(kind), str(namespace), str(name), str(uid), bool(reading)]:
            return ObjectRef(kind, namespace, name, uid, reading)
    return None


def ref_of(kind: str, body: Any) -> ObjectRef:
    """The reference for reading an object as the API server sent it."""
    metadata = body["metadata"]
    namespace, uid = str(metadata.get("namespace") or ""), str(metadata.get("uid") or "")
    return ObjectRef(kind, namespace, str(metadata["name"]), uid, reading=True)
