"""Log lines of an interpreter that an operator starts."""

import logging
import os
import threading

import pytest
from torpor_airflow.operators import child_log
from torpor_airflow.operators.child_log import LINE_MAX, ChildLogLine


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"event": "stored", "level": "info"}', ChildLogLine(level=logging.INFO, text="stored")),
        (b'{"event": "slow", "level": "warning"}', ChildLogLine(level=logging.WARNING, text="slow")),
        (b'{"event": "x", "level": "no such"}', ChildLogLine(level=logging.INFO, text="x")),
        (
            b'{"event": "failed", "level": "error", "lineno": 7, "exception": [{"exc_type": "ValueError"}]}',
            ChildLogLine(level=logging.ERROR, text='failed {"exception": [{"exc_type": "ValueError"}]}'),
        ),
        (b"no JSON at all\n", ChildLogLine(level=logging.INFO, text="no JSON at all")),
        (b'["a list"]', ChildLogLine(level=logging.INFO, text='["a list"]')),
        (b"\xff", ChildLogLine(level=logging.INFO, text="\ufffd")),
        (b"[" * LINE_MAX, ChildLogLine(level=logging.INFO, text="[" * LINE_MAX)),
    ],
)
def test_a_line_keeps_its_level_and_its_fields(line: bytes, expected: ChildLogLine) -> None:
    assert child_log.parse(line) == expected


@pytest.mark.attack
def test_a_line_without_an_end_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    lines, log = os.pipe()
    with caplog.at_level(logging.INFO, logger="task"):
        reader = threading.Thread(target=child_log.write, args=(lines,))
        reader.start()
        with os.fdopen(log, "wb") as written:
            written.write(b"x" * (3 * LINE_MAX) + b"\nnext\n")
        reader.join()
    assert [record.getMessage() for record in caplog.records] == ["x" * LINE_MAX + " … (cut)", "next"]
