"""Policy torpor-approval-scope limits approvers to the annotations of an answer."""

from typing import Any

import pytest

from tests.integration.policies.admission.person import Desk

_GARBAGE = "generic-garbage-collector"
REST: list[dict[str, Any]] = [
    {"labels": {"torpor.dev/workflow": "another"}},
    {"labels": None},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "mine"}]},
    {"ownerReferences": []},
    {"finalizers": ["example.org/held"]},
    {"finalizers": None},
    {"annotations": {"example.org/note": "x"}},
    {"annotations": {"example.org/theirs": None}},
]


@pytest.fixture
def owned(desk: Desk) -> Desk:
    """A TaskRun with labels, an existing owner, a finalizer and an annotation."""
    theirs = {"example.org/theirs": "x"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "run"}}
    uid = desk.server.create("configmaps", desk.namespace, body).expect(201)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "run", "uid": uid}
    labels = {"torpor.dev/workflow": "w"}
    held = ["example.org/theirs"]
    desk.changes(None, labels=labels, ownerReferences=[owner], finalizers=held, annotations=theirs).expect(200)
    desk.set_status()
    return desk


@pytest.fixture
def released(owned: Desk) -> Any:
    """Removes the finalizer at the end, so that the namespace can be deleted."""
    yield owned
    owned.changes(None, finalizers=None).expect(200)


def words(desk: Desk, person: str) -> dict[str, str]:
    return {"torpor.dev/approval": "approved", "torpor.dev/approval-by": desk.name(person)}


@pytest.mark.parametrize("change", REST, ids=str)
def test_an_approver_changes_nothing_else(released: Desk, change: dict[str, Any]) -> None:
    desk = released
    before = desk.metadata()
    annotations = {**words(desk, "ann"), **(change.get("annotations") or {})}
    for tried in (change, {**change, "annotations": annotations}):
        answer = desk.changes("ann", **tried)
        assert answer.status == 403, answer.body
        assert "torpor-approval-scope" in answer.message
        (field,) = change
        assert answer.message.endswith(
            f"also changes metadata.{field}" if field != "annotations" else next(iter(change[field]))
        )
    assert desk.metadata() == before
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)


def test_an_approver_writes_no_status(desk: Desk) -> None:
    desk.set_status()
    fired = [{"op": "replace", "path": "/status/state", "value": "Succeeded"}]
    answer = desk.server.patch_status(desk.namespace, "deploy", fired, token=desk.tokens["ann"])
    assert answer.status == 403
    assert "cannot patch" in answer.message


@pytest.mark.parametrize("change", REST, ids=str)
def test_a_cluster_administrator_changes_any_metadata(released: Desk, change: dict[str, Any]) -> None:
    released.changes(None, **change).expect(200)


def test_the_garbage_collector_removes_owners_and_finalizers(released: Desk) -> None:
    desk = released
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _GARBAGE, "namespace": "kube-system"}}
    desk.server.apply(account)
    desk.tokens["garbage"] = desk.server.token("kube-system", _GARBAGE)
    desk.changes("garbage", ownerReferences=[]).expect(200)
    desk.changes("garbage", finalizers=None).expect(200)


def test_an_admin_of_the_namespace_only_answers(released: Desk) -> None:
    desk = released
    desk.person("owner", "admin")
    assert desk.changes("owner", labels={"a": "b"}).status == 403
    desk.changes("owner", annotations=words(desk, "owner")).expect(200)


@pytest.mark.parametrize("key", ["torpor.dev/aproval", "torpor.dev/approved", "torpor.dev/approval-By"])
def test_an_unknown_annotation_is_rejected_for_every_user(desk: Desk, key: str) -> None:
    desk.set_status()
    for person in ("ann", None):
        answer = desk.changes(person, annotations={key: "approved"})
        assert answer.status == 422
        assert f"unknown annotation {key}; answer an approval with torpor.dev/approval" in answer.message


def test_the_time_of_an_answer_cannot_be_forged(desk: Desk) -> None:
    desk.set_status()
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)
    managed_fields = desk.metadata()["managedFields"]
    (own,) = [entry for entry in managed_fields if "f:torpor.dev/approval" in str(entry)]
    rest = [entry for entry in managed_fields if entry != own]
    early = {**own, "time": "2020-01-01T00:00:00Z"}
    note = {"torpor.dev/approval-note": "long ago"}
    forgeries: list[list[dict[str, Any]]] = [[*rest, early], [*rest, {**early, "manager": "another"}], [{}]]
    for forged in forgeries:
        answer = desk.changes("ann", manager="a-second", annotations=note, managedFields=forged)
        assert answer.status == 403, (forged, desk.metadata())
        assert "metadata.managedFields cannot be changed" in answer.message
    assert desk.metadata()["managedFields"] == managed_fields


def test_an_answer_can_be_extended_and_replaced(desk: Desk) -> None:
    desk.set_status()
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)
    desk.changes("ann", manager="another", annotations={"torpor.dev/approval-note": "after all"}).expect(200)
    rejected = {**words(desk, "bob"), "torpor.dev/approval": "rejected", "torpor.dev/approval-note": None}
    desk.changes("bob", manager="another", annotations=rejected).expect(200)
    desk.changes("bob", annotations={"torpor.dev/approval": None}).expect(200)
