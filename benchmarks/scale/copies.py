"""Copies of a Workflow and its TaskRuns as etcd stores them, under another name, in another namespace. Pure.

What the operator, the worker and the API server wrote remains: states, history, managedFields. Names, uids, references
and triggers are those that a Workflow of its own would have, so an operator has nothing to correct.
"""

import copy
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants, names, trigger

from benchmarks.scale.worker import MOMENT

Object = dict[str, Any]
_YEAR = int(MOMENT[:4])
_REGISTRY = "/registry/torpor.dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTarget:
    """The Workflow that a copy belongs to. `number` makes its triggers differ from those of all others."""

    name: str
    namespace: str
    number: int
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))


def folder(plural: str, namespace: str) -> str:
    """Where etcd has the objects of a namespace."""
    return f"{_REGISTRY}/{plural}/{namespace}/"


def key(plural: str, body: Mapping[str, Any]) -> str:
    """The key of an object."""
    return folder(plural, body["metadata"]["namespace"]) + str(body["metadata"]["name"])


def workflow(body: Mapping[str, Any], to: CopyTarget) -> Object:
    """The copy of the Workflow."""
    copied = copy.deepcopy(dict(body))
    copied["metadata"] |= {"name": to.name, "namespace": to.namespace, "uid": to.uid}
    for task in copied["spec"]["tasks"]:
        if "trigger" in task:
            task["trigger"]["kwargs"] = _later(task["trigger"]["kwargs"], to)
    return copied


def taskrun(body: Mapping[str, Any], to: CopyTarget) -> Object:
    """The copy of one of its TaskRuns."""
    copied = copy.deepcopy(dict(body))
    metadata, spec, status = copied["metadata"], copied["spec"], copied["status"]
    owner = {"name": to.name, "uid": to.uid}
    name = names.taskrun(to.name, to.uid, spec["task"], spec.get("mapIndex", constants.UNMAPPED))
    metadata |= {"name": name, "namespace": to.namespace, "uid": str(uuid.uuid4())}
    metadata["labels"][constants.LABEL_WORKFLOW] = names.label(to.name)
    metadata["ownerReferences"][0] |= owner
    spec["workflow"] |= owner
    if "trigger" in spec:
        spec["trigger"]["kwargs"] = json.dumps(_later(json.loads(spec["trigger"]["kwargs"]), to), separators=(",", ":"))
    if "pod" in status:
        former = names.pod_numbers(status["pod"]["name"])
        status["pod"]["name"] = names.pod(name, *(former or (1, 0, 0)))
    status["trigger"] = _waits(status["trigger"], to, name)
    return copied


def _waits(stored: Mapping[str, Any], to: CopyTarget, taskrun_name: str) -> Object:
    kwargs = _later(json.loads(stored["kwargs"]), to)
    built = trigger.build(
        stored["class"], kwargs, namespace=to.namespace, pool=constants.DEFAULT_POOL, now=0.0, taskrun=taskrun_name
    )
    return dict(built.on_status())


def _later(kwargs: Mapping[str, Any], to: CopyTarget) -> Object:
    return {name: str(value).replace(f"{_YEAR}-", f"{_YEAR + to.number}-", 1) for name, value in kwargs.items()}
