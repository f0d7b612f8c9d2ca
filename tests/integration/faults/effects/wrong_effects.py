"""What a run did outside of Torpor, compared with a faultless run: the requests it sent, and the objects it created.

A request may be sent again, with the same Idempotency-Key. An object may not be created again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_wire import constants

Object = dict[str, Any]


def wrong_requests(taskrun: Object, keys: Iterable[str]) -> list[str]:
    """Return the keys of a task with `http` that are absent or too many: each attempt has one."""
    uid, status = taskrun["metadata"]["uid"], taskrun["status"]
    expected = {f"{uid}-{attempt}-0" for attempt in range(1, status["attempt"] + 1)}
    found = {key for key in keys if key.startswith(f"{uid}-")}
    return [f"request {key}: {key in found} instead of {key in expected}" for key in sorted(expected ^ found)]


def wrong_objects(taskruns: Iterable[Object], objects: Iterable[Object]) -> list[str]:
    """Return the object tasks that have not exactly one object, and objects that no task has."""
    owners = [owner(each) for each in objects]
    uids = {run["metadata"]["uid"] for run in taskruns if "object" in run["spec"]}
    counts: Mapping[str, int] = {uid: owners.count(uid) for uid in {*uids, *owners} - {""}}
    return [
        f"objects of {uid}: {count} instead of {int(uid in uids)}"
        for uid, count in sorted(counts.items())
        if count != (uid in uids)
    ]


def owner(body: Object) -> str:
    """Return the uid of the TaskRun that created an object; empty if none did."""
    return str(body["metadata"].get("labels", {}).get(constants.LABEL_OBJECT_OF, ""))
