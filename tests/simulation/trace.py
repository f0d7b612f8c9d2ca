"""A committed change as one line of a trace."""

from torpor_local.apiserver.history import ObjectChange

_SHOWN = ("state", "attempt", "segment", "launch", "phase", "reason", "message", "event", "cancel", "pod", "progress")


def change(entry: ObjectChange) -> str:
    """The kind and the name of the object, and the fields that explain its state."""
    kind, name = entry.address.kind.rpartition("/")[2], entry.address.name
    if entry.after is None:
        return f"{kind} {name} is gone"
    status = entry.after.get("status") or {}
    meta = entry.after["metadata"]
    marks = [mark for mark in ("deletionTimestamp",) if mark in meta] + list(meta.get("finalizers", []))
    description = " ".join(f"{key}={status[key]}" for key in _SHOWN if key in status)
    return f"{kind} {name} {'changes' if entry.before else 'is created'}: {description} {' '.join(marks)}".rstrip()
