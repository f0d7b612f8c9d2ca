"""A wait that names its approvers is answered by none but them, whatever else the answering person may do."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Server, eventually
from tests.integration.policies.admission.person import Desk

pytestmark = pytest.mark.integration


@pytest.fixture
def desk(server: Server, open_namespace: Callable[[], str], namespace: str) -> Desk:
    made = Desk(server, namespace, people=open_namespace())
    eventually(lambda: "torpor-approval" in made.begins("approved").message, "the policy is in force")
    return made


def asks(desk: Desk, **approvers: list[str]) -> None:
    """Let the TaskRun wait for a word of these."""
    trigger: dict[str, Any] = {
        "class": "approval",
        "kwargs": json.dumps({"approvers": approvers}),
        "key": "k",
        "shard": 0,
    }
    desk.set_status(trigger=trigger | {"waitsFor": "approval", "approvers": approvers})


def test_a_service_account_that_may_approve_is_no_approver_that_was_named(desk: Desk) -> None:
    asks(desk, users=["mia@example.org", desk.name("ann")], groups=["sre"])
    answer = desk.says("bob", word="approved", by=desk.name("bob"))
    assert answer.status == 403, answer.message
    assert (
        f"only the users mia@example.org, {desk.name('ann')} and members of the groups sre may answer this approval; "
        f"you are {desk.name('bob')}"
    ) in answer.message
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)


def test_a_member_of_a_group_that_was_named_may_answer(desk: Desk) -> None:
    asks(desk, groups=[f"system:serviceaccounts:{desk.people}"])
    desk.says("bob", word="approved", by=desk.name("bob")).expect(200)


def test_the_administrator_of_the_cluster_is_no_approver_either(desk: Desk) -> None:
    asks(desk, users=["mia@example.org"])
    words = {"torpor.dev/approval": "approved", "torpor.dev/approval-by": "mia@example.org"}
    answer = desk.changes(None, annotations=words)
    assert answer.status == 403
    assert "only the users mia@example.org may answer this approval; you are" in answer.message


def test_who_is_not_named_changes_nothing_of_an_answer(desk: Desk) -> None:
    asks(desk, users=[desk.name("ann")])
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    assert desk.says("bob", word="rejected", by=desk.name("bob")).status == 403
    assert desk.says("bob", note="mine").status == 403


@pytest.mark.parametrize("named", ["users", "groups"])
def test_a_service_account_of_the_namespace_is_refused_even_if_it_is_named(
    server: Server, namespace: str, named: str
) -> None:
    """A user with `edit` can request a token of it, and so would approve."""
    desk = Desk(server, namespace)
    names = {"users": desk.name("ann"), "groups": f"system:serviceaccounts:{namespace}"}
    asks(desk, **{named: [names[named]]})
    answer = desk.says("ann", word="approved", by=desk.name("ann"))
    assert answer.status == 403, answer.message
    assert f"no ServiceAccount of namespace {namespace} may answer it" in answer.message


def test_an_editor_of_the_namespace_can_request_the_token_of_an_account(server: Server, namespace: str) -> None:
    """Why policy torpor-approval refuses these accounts: the cluster's role `edit` grants it."""
    desk = Desk(server, namespace)
    desk.person("eve", "edit")
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/ann/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    server.request("POST", path, body, token=desk.tokens["eve"]).expect(201)
