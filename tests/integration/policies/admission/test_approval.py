"""Whose word a person's word is: what the policy says to the annotations of a TaskRun."""

import pytest

from tests.integration.policies.admission.person import Desk


def test_whoever_may_answers_with_his_own_name(desk: Desk) -> None:
    desk.stands()
    desk.says("ann", word="approved", by=desk.name("ann"), note="go ahead").expect(200)
    desk.says("bob", word="rejected", by=desk.name("bob"), note=None).expect(200)


def test_a_word_in_anothers_name_is_refused_with_the_command_that_is_not(desk: Desk) -> None:
    desk.stands()
    for by in ({"by": desk.name("bob")}, {"by": "ann"}, {}):
        answer = desk.says("ann", word="rejected", **by)
        assert answer.status == 403, answer.message
        assert "torpor-approval" in answer.message
        command = (
            f"kubectl annotate --overwrite -n {desk.namespace} taskrun deploy torpor.dev/approval=rejected "
            f'"torpor.dev/approval-by={desk.name("ann")}"'
        )
        assert answer.message.endswith(command)


@pytest.mark.parametrize("change", [{"word": "rejected"}, {"by": "eve"}, {"by": None}, {"note": "not mine"}])
def test_what_one_has_said_no_other_changes(desk: Desk, change: dict[str, str | None]) -> None:
    desk.stands()
    desk.says("ann", word="approved", by=desk.name("ann"), note="mine").expect(200)
    assert desk.says("bob", **change).status == 403


def test_a_word_can_be_taken_back(desk: Desk) -> None:
    desk.stands()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.says("ann", word=None, by=None).expect(200)


def test_a_later_wait_is_answered_by_its_name_only(desk: Desk) -> None:
    desk.stands()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.stands("UpForRetry")
    desk.stands("Scheduled", attempt=2, segment=3)
    desk.stands()
    for stale in ({"note": "once more"}, {"for": "a1-s0"}, {"for": "a2-s2"}):
        answer = desk.says("ann", word="approved", by=desk.name("ann"), **stale)
        assert answer.status == 422, answer.message
        assert answer.message.endswith(" torpor.dev/approval-for=a2-s3")
    desk.says("ann", word="approved", by=desk.name("ann"), **{"for": "a2-s3"}).expect(200)


@pytest.mark.parametrize("way", [["Scheduled"], ["Running"], ["Deferred", "Succeeded"]])
def test_who_does_not_wait_takes_no_word(desk: Desk, way: list[str]) -> None:
    for state in way:
        desk.stands(state)
    answer = desk.says("ann", word="approved", by=desk.name("ann"))
    assert answer.status == 422
    assert f"this TaskRun is {state} and waits for nobody" in answer.message


@pytest.mark.parametrize("class_name", ["http", "any_of", "approval", "acme.Approval"])
def test_a_wait_for_something_else_takes_no_word_where_it_is_known_that_it_cannot(desk: Desk, class_name: str) -> None:
    desk.stands(trigger={"class": class_name, "kwargs": "{}", "key": "k", "shard": 0, "waitsFor": "http http://a"})
    answer = desk.says("ann", word="approved", by=desk.name("ann"))
    if class_name == "http":
        assert answer.status == 422
        assert "this TaskRun waits for http http://a, and not for a person" in answer.message
    else:
        answer.expect(200)


def test_no_taskrun_is_made_with_a_word_on_it(desk: Desk) -> None:
    answer = desk.begins("approved")
    assert answer.status == 422
    assert "waits for nobody" in answer.message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"word": "yes"}, "torpor.dev/approval is approved or rejected; write: kubectl annotate"),
        ({"word": "approved", "note": "x" * 1025}, "more than 1024 characters"),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, words: dict[str, str], said: str) -> None:
    desk.stands()
    answer = desk.says("ann", by=desk.name("ann"), **words)
    assert answer.status == 422
    assert said in answer.message


def test_other_changes_are_let_through_whatever_has_been_said(desk: Desk) -> None:
    desk.stands()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.stands("Succeeded")
    desk.changes(None, annotations={"example.org/note": "x"}, labels={"a": "b"}).expect(200)


def test_a_task_pod_may_not_answer_for_itself(desk: Desk) -> None:
    desk.stands()
    desk.tokens["pod"] = desk.server.token(desk.namespace, "torpor-task")
    answer = desk.says("pod", word="approved", by=desk.name("torpor-task"))
    assert answer.status == 403
    assert "cannot patch" in answer.message
