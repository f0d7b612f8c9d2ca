from typing import Any

import pytest
from torpor_cli.render import tree as render
from torpor_cli.render.tree import RenderOptions
from torpor_views import tree
from torpor_views.model import RunView

from tests.unit.views.objects import NOW, at, deferred, python, run, taskrun, wait, workflow


def drawn(options: RenderOptions, message: str, reason: str = "Error") -> list[str]:
    """The lines of a run of one task with this message."""
    task: dict[str, Any] = {"name": "a", "state": "Failed", "reason": reason, "message": message}
    workflow = {
        "metadata": {"name": "x", "uid": "u", "namespace": "team"},
        "spec": {"tasks": [{"name": "a", "python": "m:f"}]},
        "status": {"state": "Failed", "tasks": [task]},
    }
    return render.lines(tree.build(RunView.parse(workflow, now=0.0)), options)


def test_without_a_terminal_messages_are_whole() -> None:
    assert drawn(RenderOptions(), "x" * 2000)[-1].endswith("Error: " + "x" * 2000)


def test_a_terminal_cuts_messages_at_its_width_with_an_ellipsis() -> None:
    (line,) = drawn(RenderOptions(width=80), "failed to resolve reference " * 9)[-1:]
    assert len(line) == 80
    assert line.endswith("…")


def test_a_message_of_several_lines_is_one_line() -> None:
    assert drawn(RenderOptions(), "Error, exit code 3: before\noh\tno\x1b[2J")[-1].endswith("before oh no\\x1b[2J")


def test_a_reason_that_is_the_state_is_not_repeated() -> None:
    assert (
        drawn(RenderOptions(), "upstream task b", reason="Failed")[-1].split("Failed", 1)[1].strip()
        == "upstream task b"
    )


def waiting(**fields: Any) -> str:
    """The details of a task that waits until a moment 42 s ago."""
    until = {"kwargs": f'{{"at":"{at(-42)}"}}'}
    rendered = run(
        workflow(wait("pause", "Running")),
        deferred("pause", class_name="time", waits_for=f"until {at(-42)}", trigger=until, **fields),
    )
    return render.lines(tree.build(rendered), RenderOptions(), waits=render.waits_of(rendered))[-1]


def test_a_wait_whose_time_has_passed_says_so() -> None:
    assert waiting().endswith(f"waits until {at(-42)} (42s ago)")


@pytest.mark.parametrize("reason", ["PoolUnserved", "Queued", "SecretForbidden"])
def test_a_wait_without_a_triggerer_shows_its_reason(reason: str) -> None:
    assert waiting(reason=reason, message="no triggerer").endswith(f"{reason}: no triggerer")


def test_a_folded_task_shows_what_keeps_its_instances() -> None:
    mapped = python("load", "Running", expand=[{"name": "x", "over": [1]}])
    stuck = [
        taskrun("load", "Scheduled", n, reason="QuotaExceeded", message="exceeded quota: pods=2") for n in (0, 1, 2)
    ]
    rendered = run(workflow(mapped), *stuck, now=NOW)
    (line,) = render.lines(tree.build(rendered), RenderOptions(), waits=render.waits_of(rendered))[-1:]
    assert line.endswith("0/3, 3 queued  QuotaExceeded: exceeded quota: pods=2")
