import json
from typing import Any

import pytest
from torpor_cli.render import transition


def taskrun(state: str, *, spec: dict[str, Any] | None = None, **status: object) -> dict[str, Any]:
    body = {"task": "measure", "mapIndex": 3, "python": "m:f", **(spec or {})}
    return {"metadata": {"name": "x"}, "spec": body, "status": {"state": state, "attempt": 1, "segment": 0, **status}}


@pytest.mark.parametrize(
    ("now", "before", "details"),
    [
        (taskrun("Running", pod={"name": "p-s0"}), None, "in pod p-s0"),
        (taskrun("Succeeded", result='{"rows": 3, "table": "a\\nb"}'), None, "rows=3"),
        (taskrun("Succeeded", result="null"), None, ""),
        (taskrun("Succeeded", result="[" * 4000), None, ""),
        (taskrun("Failed", reason="Lost", message="gone\nfor good"), None, "Lost: gone for good"),
        (taskrun("Failed", reason="Error", message="Error, exit code 3"), None, "Error, exit code 3"),
        (
            taskrun("Scheduled", segment=1, next={"method": "m:g"}),
            taskrun("Deferred"),
            "the trigger fired; m:g is next, in a new pod",
        ),
        (taskrun("Scheduled", launch=1), taskrun("Running"), "its pod was disrupted; another one starts"),
        (taskrun("Scheduled", attempt=2), taskrun("UpForRetry"), "attempt 2"),
        (taskrun("Deferred", trigger={"waitsFor": "until noon"}), None, "waits until noon; its pod is released"),
        (
            taskrun("Deferred", spec={"trigger": {"class": "http"}}, trigger={"waitsFor": "http x"}),
            None,
            "waits for http x; it has no pod",
        ),
        (
            taskrun("UpForRetry", reason="Error", message="no", retryAt="2026-11-22T10:00:00Z"),
            None,
            "Error: no; again at 2026-11-22T10:00:00Z",
        ),
        (taskrun("Napping"), None, ""),
    ],
)
def test_a_line_has_the_detail_that_a_reader_asks_for_next(
    now: dict[str, Any], before: dict[str, Any] | None, details: str
) -> None:
    line = transition.line(now, before, 1.25)
    state = now["status"]["state"]
    assert line.startswith(f"1970-01-01T00:00:01.250Z  measure/3             {state}")
    assert line.endswith(f"  {details}" if details else state)


def test_escape_sequences_are_text_and_messages_are_whole() -> None:
    line = transition.line(taskrun("Failed", reason="Error", message="\x1b[2J" + "x" * 500), None, 0.0)
    assert "\x1b" not in line
    assert line.endswith("x" * 500)


def test_a_long_result_shows_its_beginning() -> None:
    line = transition.line(taskrun("Succeeded", result=json.dumps(["x" * 500])), None, 0.0)
    assert line.endswith("xxx…")
    assert len(line) < 250
