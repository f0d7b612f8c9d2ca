"""What the policies reject in a task that acts on an object."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {"parallelism": "${params.n}"}}


def workflow(body: dict[str, Any] | None = None, /, _task: dict[str, Any] | None = None, **call: Any) -> dict[str, Any]:
    task = {"name": "a", "object": {"manifest": _JOB | (body or {}), **call}} | (_task or {})
    return manifest("Workflow", "run", {"tasks": [task], "params": {"n": 1}})


REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "an object and a function": (
        workflow(_task={"python": "m:f", "image": "x"}),
        "task a: a task has exactly one body",
    ),
    "an object with fields of a pod": (
        workflow(_task={"image": "x", "args": {"day": 1}, "failWhen": "true"}),
        "task a: a task with object has no pod: remove image, args, failWhen; expressions belong to object.manifest",
    ),
    "a manifest that is an expression": (workflow(manifest="${params.n}"), "object.manifest is an object with"),
    "a kind that is an expression": (workflow({"kind": "${params.n}"}), "they cannot be expressions"),
    "a kind of Torpor": (workflow({"apiVersion": "torpor.dev/v1alpha1"}), "is a kind of Torpor: use a task with run"),
    "a Secret": (workflow({"apiVersion": "v1", "kind": "Secret"}), "a Secret would be readable in the TaskRun"),
    "a Pod": (workflow({"apiVersion": "v1", "kind": "Pod"}), "use a task with container"),
    "another namespace": (workflow({"metadata": {"namespace": "kube-system"}}), "remove metadata.namespace of"),
    "an owner": (workflow({"metadata": {"ownerReferences": []}}), "remove metadata.ownerReferences of"),
    "a finalizer": (workflow({"metadata": {"finalizers": ["a.b/c"]}}), "remove metadata.finalizers of"),
    "a mark": (workflow({"metadata": {"labels": {"torpor.dev/object-of": "u"}}}), "remove labels and annotations of"),
    "two names": (workflow({"metadata": {"name": "a", "generateName": "b"}}), "has name and generateName: remove one"),
    "a patch of nothing": (workflow({"metadata": {}}, action="patch"), "metadata.name of object.manifest is missing"),
    "a foreign object to delete": (workflow(action="get", deleteOnEnd="Always"), "deleteOnEnd is for objects that the"),
    "a failure without a wait": (workflow(failWhen="true"), "object.failWhen is evaluated while the task waits"),
    "a deletion with a result": (workflow(action="delete", result="1"), "action delete waits until the object is gone"),
    "an unknown action": (workflow(action="replace"), "Unsupported value"),
}


@pytest.mark.parametrize(
    "call", [{}, {"action": "apply", "until": "true"}, {"action": "delete"}, {"deleteOnEnd": "Never"}]
)
def test_a_task_with_an_object_is_admitted(server: Server, namespace: str, call: dict[str, Any]) -> None:
    server.create("workflows", namespace, workflow(**call), dryRun="All").expect(201)


@pytest.mark.attack
@pytest.mark.parametrize("case", REJECTED)
def test_an_object_that_a_task_may_not_name_is_rejected(server: Server, namespace: str, case: str) -> None:
    body, message = REJECTED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert message in answer.message
