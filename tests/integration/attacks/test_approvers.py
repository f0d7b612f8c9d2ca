"""A wait that names its approvers is answered by none but them, whatever else the answering person may do."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Server, eventually
from tests.integration.policies.admission.person import Desk

pytestmark = pytest.mark.integration


@pytest.fixture
def desk(server: Server, namespace: str) -> Desk:
    made = Desk(server, namespace)
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
    desk.stands(trigger=trigger | {"waitsFor": "approval", "approvers": approvers})


def test_a_service_account_that_may_approve_is_no_approver_that_was_named(desk: Desk) -> None:
    """Who has `edit` can mint a token of any ServiceAccount of the namespace; `ann` and `bob` are such."""
    asks(desk, users=["mia@example.org", desk.name("ann")], groups=["sre"])
    answer = desk.says("bob", word="approved", by=desk.name("bob"))
    assert answer.status == 403, answer.message
    assert (
        f"only the users mia@example.org, {desk.name('ann')} and members of the groups sre may answer this approval; "
        f"you are {desk.name('bob')}"
    ) in answer.message
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)


def test_a_member_of_a_group_that_was_named_may_answer(desk: Desk) -> None:
    asks(desk, groups=[f"system:serviceaccounts:{desk.namespace}"])
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
