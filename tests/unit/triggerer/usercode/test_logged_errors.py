"""The log of a triggerer has the lines of code of an error that nobody expects, and only the message of others."""

import logging

import pytest
from torpor_triggerer.model.object_error import ObjectTaskError
from torpor_triggerer.usercode import invoke
from torpor_wire.reason import Reason


@pytest.mark.parametrize(
    ("error", "has_lines"),
    [(ObjectTaskError(Reason.FAIL_WHEN, "the job failed"), False), (RuntimeError("the job failed"), True)],
)
def test_only_an_unexpected_error_is_logged_with_its_lines(
    error: Exception, has_lines: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        invoke.from_error(error)
    (record,) = caplog.records
    assert "the job failed" in record.getMessage()
    assert (record.exc_info is not None) is has_lines
