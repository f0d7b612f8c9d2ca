"""The object of a TaskRun, as an object task reads it. Pure.

Only the operator writes the spec of a TaskRun. The arguments of the trigger could be those of a pod that deferred its
own TaskRun, so they decide nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.bodies.object_task import ObjectCall
from torpor_wire.enums import ObjectAction
from torpor_wire.objects import object_manifest
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_triggerer.model.deferred_taskrun import SegmentId
from torpor_triggerer.model.object_error import ObjectTaskError


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObject:
    """What one attempt does, and to which object."""

    call: ObjectCall
    manifest: Mapping[str, Any]
    namespace: str
    taskrun: str
    task: str
    uid: str
    attempt: int

    @property
    def name(self) -> str:
        """The name of the object."""
        return object_manifest.object_name(self.manifest, self.taskrun, self.uid, self.attempt)

    @property
    def words(self) -> str:
        """Kind and name, for messages."""
        return f"{self.call.kind} {self.name}"

    @property
    def is_created(self) -> bool:
        """Whether the task creates the object, so that it may delete it, too."""
        return self.call.action is ObjectAction.CREATE

    @property
    def manager(self) -> str:
        """The field manager of `apply`: that of the task in all runs, so that a later run may change its fields."""
        return f"torpor-{self.task}"

    def body(self) -> dict[str, Any]:
        """The object to send."""
        if not self.is_created:
            return object_manifest.named(self.manifest, self.namespace)
        return object_manifest.marked(
            self.manifest,
            namespace=self.namespace,
            taskrun=self.taskrun,
            uid=self.uid,
            attempt=self.attempt,
            owned=object_manifest.is_owned(self.call.delete_on_end),
        )

    def is_own(self, stored: Mapping[str, Any]) -> bool:
        """Whether this attempt created a stored object."""
        return object_manifest.is_of_attempt(stored, self.uid, self.attempt)

    def taken(self, stored: Mapping[str, Any]) -> ObjectTaskError:
        """The failure for an object of another owner."""
        labels = (stored.get("metadata") or {}).get("labels") or {}
        of_former = labels.get(object_manifest.OWNER_LABEL) == self.uid
        owner = "a former attempt of this task created it" if of_former else "this task did not create it"
        return ObjectTaskError(
            Reason.OBJECT_TAKEN,
            f"{self.words} exists already, and {owner}: use metadata.generateName for a name that follows from the "
            "attempt, action apply for an object that others may change, or deleteOnEnd",
        )


def read(raw: Mapping[str, Any] | None, segment: SegmentId) -> TaskObject | None:
    """Return the object of a TaskRun; None for one that is gone, or that is another one by now.

    Raises ObjectTaskError if it has none that the task may act on.
    """
    if raw is None or raw["metadata"]["uid"] != segment.uid:
        return None
    metadata, spec = raw["metadata"], raw["spec"]
    if not isinstance(spec.get("object"), dict):
        raise ObjectTaskError(Reason.TRIGGER_INVALID, "only a task with `object` can use trigger object_task")
    try:
        call = ObjectCall.model_validate(spec["object"])
        manifest = json.loads(call.manifest)
    except (ValueError, RecursionError) as error:
        raise ObjectTaskError(Reason.TRIGGER_INVALID, f"the object of the TaskRun cannot be read: {error}") from error
    if (problem := object_manifest.problem(manifest, call.action)) is not None:
        raise ObjectTaskError(Reason.TRIGGER_INVALID, problem)
    return TaskObject(
        call=call,
        manifest=manifest,
        namespace=metadata["namespace"],
        taskrun=metadata["name"],
        task=spec["task"],
        uid=segment.uid,
        attempt=segment.attempt,
    )


def is_settled(raw: Mapping[str, Any], segment: SegmentId) -> bool:
    """Whether the outcome of this wait is on its TaskRun."""
    status = raw.get("status") or {}
    return (status.get("state"), status.get("attempt")) != (State.DEFERRED.value, segment.attempt)
