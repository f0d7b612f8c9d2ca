from typing import Any

from kubectl_torpor.render import tree as render
from kubectl_torpor.render.tree import Look
from torpor_views import tree
from torpor_views.model import Run


def drawn(look: Look, message: str, reason: str = "Error") -> list[str]:
    """The lines of a run of one task with this message."""
    task: dict[str, Any] = {"name": "a", "state": "Failed", "reason": reason, "message": message}
    workflow = {
        "metadata": {"name": "x", "uid": "u", "namespace": "team"},
        "spec": {"tasks": [{"name": "a", "python": "m:f"}]},
        "status": {"state": "Failed", "tasks": [task]},
    }
    return render.lines(tree.build(Run.parse(workflow, now=0.0)), look)


def test_without_a_terminal_messages_are_whole() -> None:
    assert drawn(Look(), "x" * 2000)[-1].endswith("Error: " + "x" * 2000)


def test_a_terminal_cuts_messages_at_its_width_with_an_ellipsis() -> None:
    (line,) = drawn(Look(width=80), "failed to resolve reference " * 9)[-1:]
    assert len(line) == 80
    assert line.endswith("…")


def test_a_message_of_several_lines_is_one_line() -> None:
    assert drawn(Look(), "Error, exit code 3: before\noh\tno\x1b[2J")[-1].endswith("before oh no\\x1b[2J")


def test_a_reason_that_is_the_state_is_not_repeated() -> None:
    assert drawn(Look(), "upstream task b", reason="Failed")[-1].split("Failed", 1)[1].strip() == "upstream task b"
