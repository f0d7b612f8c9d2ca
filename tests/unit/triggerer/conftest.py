"""No test may leave an error in the log but one that says so: the triggerer logs its bugs and goes on."""

import logging
from collections.abc import Iterator

import pytest

EXPECTED = (
    "does not stop after its cancellation",
    "may not write the outcome",
    "rejected the outcome",
    "not usable: ",
    "ailed to ",
    "A timer failed",
    "broke its runner",
)


@pytest.fixture(autouse=True)
def _no_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    errors = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert [line for line in errors if not any(words in line for words in EXPECTED)] == []
