"""What policy torpor-approval admits as the values of an answer."""

import pytest

from tests.integration.policies.admission.person import Desk

VALUES = '{"version":"1.4","options":["all"]}'


def test_an_answer_with_values_is_admitted(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann"), fields=VALUES).expect(200)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ('{"a":"' + "x" * 2048 + '"}', "has more than 2048 characters"),
        ('{"a":"' + "x" * 200_000 + '"}', "has more than 2048 characters"),
        ("approve everything", "must be a JSON object in one line"),
        ('{"a":\n1}', "must be a JSON object in one line"),
        ('{"a":"\x1b[2J"}', "must be a JSON object in one line"),
        ("[1]", "must be a JSON object in one line"),
    ],
)
def test_values_that_are_too_large_or_no_object_are_rejected(desk: Desk, values: str, words: str) -> None:
    desk.set_status()
    answer = desk.says("ann", word="approved", by=desk.name("ann"), fields=values)
    assert answer.status == 422, answer.message
    assert words in answer.message


@pytest.mark.attack
def test_an_approver_cannot_change_the_values_of_another(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann"), fields=VALUES).expect(200)
    assert desk.says("bob", fields='{"version":"2"}').status == 403


@pytest.mark.attack
def test_values_after_the_end_of_the_wait_are_rejected(desk: Desk) -> None:
    for state in ("Deferred", "Succeeded"):
        desk.set_status(state)
    answer = desk.says("ann", word="approved", by=desk.name("ann"), fields=VALUES)
    assert answer.status == 422
    assert "only a Deferred TaskRun can be approved" in answer.message
