"""The log of the operator and the archive: what is from outside is safe to print."""

import json
import logging
from typing import Any

import pytest
from torpor_kubernetes import log_setup


def written(message: str, *arguments: object) -> str:
    record = logging.LogRecord("a", logging.WARNING, "f.py", 1, message, arguments, None)
    return log_setup.Formatter("%(levelname)s %(message)s").format(record)


def test_escape_sequences_are_escaped_and_no_forged_line_begins() -> None:
    assert written("ns/%s: %s", "run", "\x1b[2Jgone") == "WARNING ns/run: \\x1b[2Jgone"
    assert written("%s", "a\nINFO all is well\r") == "WARNING a\n    INFO all is well\\r"


def parsed(message: str, *arguments: object, error: BaseException | None = None) -> dict[str, Any]:
    info = (type(error), error, None) if error else None
    record = logging.LogRecord("torpor_operator.app", logging.WARNING, "f.py", 1, message, arguments, info)
    record.created = 1_700_000_000.25
    line = log_setup.JsonFormatter("operator").format(record)
    assert line.isascii()
    assert line.isprintable()
    return dict(json.loads(line))


def test_a_line_of_json_says_when_who_and_what() -> None:
    assert parsed("%s: %s", "ns/run", "gone") == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "component": "operator",
        "logger": "torpor_operator.app",
        "message": "ns/run: gone",
    }


def test_lines_of_a_pass_name_its_run_and_others_do_not() -> None:
    with log_setup.log_fields(namespace="ns", name="run", run="uid-1"):
        with log_setup.log_fields(taskrun="run-load"):
            assert parsed("x")["taskrun"] == "run-load"
        assert {"namespace", "name", "run"} <= parsed("x").keys()
        assert "taskrun" not in parsed("x")
    assert "run" not in parsed("x")


def test_an_exception_is_a_field_of_the_same_line() -> None:
    assert parsed("failed", error=ValueError("a\nb"))["exception"] == "ValueError: a\nb"


@pytest.mark.attack
def test_text_from_outside_forges_neither_a_line_nor_a_field() -> None:
    line = parsed("%s", 'gone"\n{"level": "INFO", "run": "other"}\x1b[2J\u2028')
    assert line["level"] == "WARNING"
    assert "run" not in line
