"""What the manifest of an object task may contain, and the name of its object."""

from typing import Any

import pytest
from torpor_wire import constants, names
from torpor_wire.enums import DeleteOnEnd, ObjectAction, ObjectEnd
from torpor_wire.objects import object_manifest

CREATE = ObjectAction.CREATE


def job(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}}


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("text", "not an object"),
        ({}, "apiVersion is missing"),
        ({"apiVersion": "batch/../v1", "kind": "Job"}, "write a version such as batch/v1"),
        ({"apiVersion": "batch/v1", "kind": "jobs/status"}, "write a kind such as Job"),
        ({"apiVersion": "v1", "kind": "Secret"}, "a Secret would be readable"),
        ({"apiVersion": "v1", "kind": "Pod"}, "use a task with container"),
        ({"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow"}, "use a task with run"),
        (job() | {"metadata": []}, "metadata is not an object"),
        (job(namespace="other"), "remove metadata.namespace"),
        (job(ownerReferences=[]), "remove metadata.ownerReferences"),
        (job(finalizers=["a/b"]), "remove metadata.finalizers"),
        (job(labels=["a"]), "metadata.labels is not an object"),
        (job(annotations={"torpor.dev/attempt": "1"}), "remove torpor.dev/attempt"),
        (job(name="Upper"), "not a name"),
        (job(name=7), "not a name"),
        (job(generateName="a/b-"), "not a name"),
        (job(name="a", generateName="a-"), "remove one"),
    ],
)
def test_a_manifest_that_a_task_may_not_act_on(manifest: object, words: str) -> None:
    assert words in (object_manifest.problem(manifest, CREATE) or "")


@pytest.mark.parametrize("manifest", [job(), job(name="a"), job(generateName="a-"), job(labels={"app": "x"})])
def test_a_manifest_that_a_task_may_act_on(manifest: dict[str, Any]) -> None:
    assert object_manifest.problem(manifest, CREATE) is None


@pytest.mark.parametrize("action", [each for each in ObjectAction if each is not CREATE])
def test_other_actions_need_a_name(action: ObjectAction) -> None:
    assert "metadata.name is missing" in (object_manifest.problem(job(generateName="a-"), action) or "")
    assert object_manifest.problem(job(name="a"), action) is None


def test_a_name_follows_from_the_attempt_unless_it_is_written() -> None:
    first, again, second = (object_manifest.object_name(job(), "run-train-x", "uid", attempt) for attempt in (1, 1, 2))
    assert first == again != second
    assert first.startswith("run-train-x-")
    assert object_manifest.object_name(job(name="mine"), "run-train-x", "uid", 2) == "mine"


@pytest.mark.parametrize("prefix", ["a-", "a" * 100, "a." * 40, "x-" * 40])
def test_a_derived_name_is_valid_and_short(prefix: str) -> None:
    name = object_manifest.object_name(job(generateName=prefix), "t", "uid", 1)
    assert names.is_object_name(name)
    assert len(name) <= 44


def test_only_the_same_attempt_knows_its_object() -> None:
    stored = object_manifest.marked(job(), namespace="ns", taskrun="t", uid="uid", attempt=2, owned=True)
    assert object_manifest.is_of_attempt(stored, "uid", 2)
    assert not object_manifest.is_of_attempt(stored, "uid", 1)
    assert not object_manifest.is_of_attempt(stored, "other", 2)
    assert not object_manifest.is_of_attempt(job(name="x"), "uid", 2)
    assert stored["metadata"]["labels"] == {constants.LABEL_OBJECT_OF: "uid"}


def test_each_policy_deletes_after_some_ends() -> None:
    deletes = object_manifest.deletes
    deleted = {policy.value: {end.value for end in ObjectEnd if deletes(policy, end)} for policy in DeleteOnEnd}
    assert deleted == {
        "Always": {"Succeeded", "Failed", "TimedOut", "Cancelled"},
        "OnSuccess": {"Succeeded"},
        "OnFailure": {"Failed", "TimedOut", "Cancelled"},
        "OnCancel": {"TimedOut", "Cancelled"},
        "Never": set(),
    }


def test_a_command_has_no_name_that_a_shell_would_read() -> None:
    assert object_manifest.can_i("get", "jobs.batch", "ns", "a").endswith("--as=system:serviceaccount:ns:a")
    assert object_manifest.can_i("get", "jobs.batch", "ns", "a;rm") == ""
