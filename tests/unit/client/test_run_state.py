import pytest
from torpor_client.errors import UsageError
from torpor_client.runs import run_state


def workflow(state: str | None, *, reason: str = "", completed: bool = True, clear: str = "") -> dict[str, object]:
    status = {
        "state": state,
        "conditions": [{"type": "Succeeded", "status": "False", "reason": reason, "message": "why"}],
    }
    annotations = {"torpor.dev/clear": clear} if clear else {}
    return {
        "metadata": {"name": "x", "annotations": annotations},
        "status": status | ({"completionTime": "2026-11-22T10:00:00Z"} if completed else {}),
    }


@pytest.mark.parametrize(
    ("state", "reason", "word"),
    [
        ("Failed", "TaskFailed", "Failed"),
        ("Failed", "Cancelled", "Cancelled"),
        ("Running", "Cancelled", "Running"),
        (None, "", "Pending"),
        ("Paused", "", "Paused"),
    ],
)
def test_cancelled_differs_from_failed_and_an_unknown_state_is_kept(state: str | None, reason: str, word: str) -> None:
    assert run_state.word_of(workflow(state, reason=reason)) == word


def test_a_run_that_is_to_run_again_has_not_ended() -> None:
    assert run_state.has_ended(workflow("Failed"))
    assert not run_state.has_ended(workflow("Failed", clear="failed"))
    assert not run_state.has_ended(workflow("Running", completed=False))


def test_a_state_is_read_in_any_case_and_a_wrong_one_suggests_the_nearest() -> None:
    assert run_state.parse_word("failed") == "Failed"
    with pytest.raises(UsageError, match="did you mean Cancelled"):
        run_state.parse_word("canceled")
