"""What policy torpor-approval admits as an answer to an approval."""

import pytest

from tests.integration.policies.admission.person import Desk


def test_an_approver_answers_with_their_own_name(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann"), note="go ahead").expect(200)
    desk.says("bob", word="rejected", by=desk.name("bob"), note=None).expect(200)


def test_an_answer_in_another_name_is_rejected_with_the_right_command(desk: Desk) -> None:
    desk.set_status()
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
def test_an_approver_cannot_change_the_answer_of_another(desk: Desk, change: dict[str, str | None]) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann"), note="mine").expect(200)
    assert desk.says("bob", **change).status == 403


def test_an_answer_can_be_removed(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.says("ann", word=None, by=None).expect(200)


def test_a_later_wait_needs_its_name_in_the_answer(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.set_status("UpForRetry")
    desk.set_status("Scheduled", attempt=2, segment=3)
    desk.set_status()
    for stale in ({"note": "once more"}, {"for": "a1-s0"}, {"for": "a2-s2"}):
        answer = desk.says("ann", word="approved", by=desk.name("ann"), **stale)
        assert answer.status == 422, answer.message
        assert answer.message.endswith(" torpor.dev/approval-for=a2-s3")
    desk.says("ann", word="approved", by=desk.name("ann"), **{"for": "a2-s3"}).expect(200)


@pytest.mark.parametrize("way", [["Scheduled"], ["Running"], ["Deferred", "Succeeded"]])
def test_a_taskrun_that_is_not_deferred_takes_no_answer(desk: Desk, way: list[str]) -> None:
    for state in way:
        desk.set_status(state)
    answer = desk.says("ann", word="approved", by=desk.name("ann"))
    assert answer.status == 422
    assert f"this TaskRun is {state}; only a Deferred TaskRun can be approved" in answer.message


@pytest.mark.parametrize("class_name", ["http", "any_of", "approval", "acme.Approval"])
def test_a_built_in_wait_for_something_else_takes_no_answer(desk: Desk, class_name: str) -> None:
    desk.set_status(trigger={"class": class_name, "kwargs": "{}", "key": "k", "shard": 0, "waitsFor": "http://a"})
    answer = desk.says("ann", word="approved", by=desk.name("ann"))
    if class_name == "http":
        assert answer.status == 422
        assert "this TaskRun waits for http://a, not for an approval" in answer.message
    else:
        answer.expect(200)


def test_a_taskrun_cannot_be_created_with_an_answer(desk: Desk) -> None:
    answer = desk.begins("approved")
    assert answer.status == 422
    assert "only a Deferred TaskRun can be approved or rejected" in answer.message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"word": "yes"}, "torpor.dev/approval must be approved or rejected; run: kubectl annotate"),
        ({"word": "approved", "note": "x" * 1025}, "more than 1024 characters"),
    ],
)
def test_an_invalid_answer_is_rejected(desk: Desk, words: dict[str, str], said: str) -> None:
    desk.set_status()
    answer = desk.says("ann", by=desk.name("ann"), **words)
    assert answer.status == 422
    assert said in answer.message


def test_other_changes_are_admitted_after_an_answer(desk: Desk) -> None:
    desk.set_status()
    desk.says("ann", word="approved", by=desk.name("ann")).expect(200)
    desk.set_status("Succeeded")
    desk.changes(None, annotations={"example.org/note": "x"}, labels={"a": "b"}).expect(200)


def test_a_task_pod_cannot_answer_its_own_approval(desk: Desk) -> None:
    desk.set_status()
    desk.tokens["pod"] = desk.server.token(desk.namespace, "torpor-task")
    answer = desk.says("pod", word="approved", by=desk.name("torpor-task"))
    assert answer.status == 403
    assert "cannot patch" in answer.message
