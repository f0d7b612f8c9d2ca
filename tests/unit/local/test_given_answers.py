"""An answer that the user gives ends an approval, as `torpor approve` does in a cluster."""

from pathlib import Path
from typing import Any

import pytest
from torpor_local.options import GivenAnswer, LocalRunError

from tests.unit.local.local_runs import play

FORM: dict[str, Any] = {
    "question": "Deploy?",
    "fields": [{"name": "ticket", "pattern": "CHG-[0-9]+"}, {"name": "count", "type": "integer", "default": 2}],
    "options": ["canary", "all"],
    "approvers": {"users": ["ann"]},
}


def asking(name: str = "ask", **more: Any) -> dict[str, Any]:
    return {"name": name, "trigger": {"class": "approval", "kwargs": FORM}, **more}


async def test_an_approval_ends_with_the_answer_of_the_user(tmp_path: Path) -> None:
    answer = GivenAnswer(fields={"ticket": "CHG-7"}, options=("all",), note="go")
    done = await play(tmp_path, asking(), asking("no"), answers={"ask": answer, "no": GivenAnswer(approved=False)})
    event = done.results["ask"]
    assert (event["approved"], event["by"], event["note"]) == (True, "ann", "go")
    assert (event["fields"], event["options"]) == ({"ticket": "CHG-7", "count": 2}, ["all"])
    assert (done.results["no"]["approved"], done.results["no"]["fields"]) == (False, {})


async def test_each_wait_of_a_task_is_answered(tmp_path: Path) -> None:
    refusing = asking(failWhen="!event.approved", retries={"limit": 1, "delay": "0s"})
    done = await play(tmp_path, refusing, answers={"ask": GivenAnswer(approved=False)})
    (taskrun,) = done.objects["TaskRun"]
    assert (taskrun["status"]["state"], taskrun["status"]["attempt"]) == ("Failed", 2)
    assert taskrun["status"]["message"] == "rejected by ann"


async def test_an_instance_has_an_answer_of_its_own(tmp_path: Path) -> None:
    mapped = asking(expand=[{"name": "subject", "over": ["a", "b"]}], result="event.fields.ticket")
    answers = {f"ask/{index}": GivenAnswer(fields={"ticket": f"CHG-{index}"}, options=("all",)) for index in (0, 1)}
    assert (await play(tmp_path, mapped, answers=answers)).results["ask"] == ["CHG-0", "CHG-1"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (GivenAnswer(options=("all",)), "--answer ask: ticket is missing"),
        (GivenAnswer(fields={"ticket": "17"}, options=("all",)), "--answer ask: ticket does not match CHG-"),
        (GivenAnswer(fields={"ticket": "CHG-1"}, options=("some",)), "--answer ask: some is not an option"),
    ],
)
async def test_an_answer_that_does_not_fit_ends_the_run(tmp_path: Path, answer: GivenAnswer, words: str) -> None:
    with pytest.raises(LocalRunError) as raised:
        await play(tmp_path, asking(), answers={"ask": answer})
    assert str(raised.value).startswith(words)


async def test_an_answer_without_a_task_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LocalRunError, match="there is no task aks"):
        await play(tmp_path, asking(), answers={"aks": GivenAnswer()})
