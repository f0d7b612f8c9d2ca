"""How far the right to answer reaches: the words of an answer, and nothing else of the TaskRun."""

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
    """A TaskRun with something of everything; its owner is there, for a garbage collector may be too."""
    theirs = {"example.org/theirs": "x"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "run"}}
    uid = desk.server.create("configmaps", desk.namespace, body).expect(201)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "run", "uid": uid}
    labels = {"torpor.dev/workflow": "w"}
    held = ["example.org/theirs"]
    desk.changes(None, labels=labels, ownerReferences=[owner], finalizers=held, annotations=theirs).expect(200)
    desk.stands()
    return desk


@pytest.fixture
def released(owned: Desk) -> Any:
    """Lets the TaskRun go at the end, and its namespace with it."""
    yield owned
    owned.changes(None, finalizers=None).expect(200)


def words(desk: Desk, person: str) -> dict[str, str]:
    return {"torpor.dev/approval": "approved", "torpor.dev/approval-by": desk.name(person)}


@pytest.mark.parametrize("change", REST, ids=str)
def test_who_may_answer_changes_nothing_else(released: Desk, change: dict[str, Any]) -> None:
    desk = released
    before = desk.metadata()
    annotations = {**words(desk, "ann"), **(change.get("annotations") or {})}
    for tried in (change, {**change, "annotations": annotations}):
        answer = desk.changes("ann", **tried)
        assert answer.status == 403, answer.body
        assert "torpor-approval-scope" in answer.message
        (field,) = change
        assert answer.message.endswith(f"not metadata.{field}" if field != "annotations" else next(iter(change[field])))
    assert desk.metadata() == before
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)


def test_who_may_answer_writes_no_status(desk: Desk) -> None:
    desk.stands()
    fired = [{"op": "replace", "path": "/status/state", "value": "Succeeded"}]
    answer = desk.server.patch_status(desk.namespace, "deploy", fired, token=desk.tokens["ann"])
    assert answer.status == 403
    assert "cannot patch" in answer.message


@pytest.mark.parametrize("change", REST, ids=str)
def test_who_administers_the_cluster_may(released: Desk, change: dict[str, Any]) -> None:
    released.changes(None, **change).expect(200)


def test_the_garbage_collector_takes_an_owner_off_and_lets_go(released: Desk) -> None:
    desk = released
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _GARBAGE, "namespace": "kube-system"}}
    desk.server.apply(account)
    desk.tokens["garbage"] = desk.server.token("kube-system", _GARBAGE)
    desk.changes("garbage", ownerReferences=[]).expect(200)
    desk.changes("garbage", finalizers=None).expect(200)


def test_who_owns_the_namespace_answers_and_does_no_more(released: Desk) -> None:
    desk = released
    desk.person("owner", "admin")
    assert desk.changes("owner", labels={"a": "b"}).status == 403
    desk.changes("owner", annotations=words(desk, "owner")).expect(200)


@pytest.mark.parametrize("key", ["torpor.dev/aproval", "torpor.dev/approved", "torpor.dev/approval-By"])
def test_a_word_that_is_mistyped_is_refused_whoever_types_it(desk: Desk, key: str) -> None:
    desk.stands()
    for person in ("ann", None):
        answer = desk.changes(person, annotations={key: "approved"})
        assert answer.status == 422
        assert (
            f"a TaskRun has no annotation {key}; a wait for a person is answered with torpor.dev/app" in answer.message
        )


def test_a_word_is_not_dated_back(desk: Desk) -> None:
    desk.stands()
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)
    found = desk.metadata()["managedFields"]
    (own,) = [entry for entry in found if "f:torpor.dev/approval" in str(entry)]
    rest = [entry for entry in found if entry != own]
    early = {**own, "time": "2020-01-01T00:00:00Z"}
    note = {"torpor.dev/approval-note": "long ago"}
    forgeries: list[list[dict[str, Any]]] = [[*rest, early], [*rest, {**early, "manager": "another"}], [{}]]
    for forged in forgeries:
        answer = desk.changes("ann", manager="a-second", annotations=note, managedFields=forged)
        assert answer.status == 403, (forged, desk.metadata())
        assert "is the API server's to say" in answer.message
    assert desk.metadata()["managedFields"] == found


def test_a_word_is_added_to_and_another_takes_its_place(desk: Desk) -> None:
    desk.stands()
    desk.changes("ann", annotations=words(desk, "ann")).expect(200)
    desk.changes("ann", manager="another", annotations={"torpor.dev/approval-note": "after all"}).expect(200)
    rejected = {**words(desk, "bob"), "torpor.dev/approval": "rejected", "torpor.dev/approval-note": None}
    desk.changes("bob", manager="another", annotations=rejected).expect(200)
    desk.changes("bob", annotations={"torpor.dev/approval": None}).expect(200)
