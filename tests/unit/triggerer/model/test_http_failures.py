"""How a failed HTTP request ends its attempt: reason, status, the earliest retry, and no secret."""

import json
from dataclasses import replace

import pytest
from torpor.triggers.support.metering import NoResponseError, UnexpectedResponseError
from torpor_triggerer.logs import redaction
from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Done, Failed
from torpor_wire import retry, times
from torpor_wire.reason import Reason

from tests.unit.triggerer.model.test_packed_wait import WAIT

NOW = 1_800_000_000.0
_SECRET = "s3cret-of-the-api"
ONCE = replace(WAIT, segment_id=WAIT.segment_id._replace(attempt=1), retries=retry.Policy(limit=1, delay=10.0))


class SecretLog:
    """A wait whose only secret is known."""

    lines = ()

    def redact(self, text: str) -> str:
        return redaction.redact(text, redaction.spellings([_SECRET]))

    def redact_event(self, event: str) -> str:
        return redaction.redact_json(event, redaction.spellings([_SECRET]))


def written(failed: Failed) -> dict[str, object]:
    operations = outcome.patch(ONCE, failed, NOW)
    return {str(each["path"]).rpartition("/")[2]: each["value"] for each in operations if each["op"] == "add"}


def test_no_response_is_a_reason_of_its_own_without_a_status() -> None:
    failed = outcome.from_exception(NoResponseError("GET http://x/: no response"))
    assert (failed.reason, failed.details.http_status) == (Reason.NO_RESPONSE, None)
    assert "httpStatus" not in written(failed)


@pytest.mark.parametrize(("retry_after", "earliest"), [(0.0, 10.0), (600.0, 600.0)])
def test_the_status_and_the_earliest_retry_are_written(retry_after: float, earliest: float) -> None:
    error = UnexpectedResponseError("GET http://x/ answered 503", status=503, retry_after=retry_after)
    fields = written(outcome.from_exception(error))
    assert (fields["state"], fields["reason"], fields["httpStatus"]) == ("UpForRetry", "UnexpectedResponse", 503)
    assert NOW + earliest <= times.epoch(str(fields["retryAt"])) <= NOW + max(earliest, 20.0)


@pytest.mark.attack
def test_a_secret_that_the_server_sends_back_is_not_stored() -> None:
    error = UnexpectedResponseError(f"GET http://x/ answered 401: {_SECRET}", status=401, retry_after=0.0)
    failed = outcome.redacted(outcome.from_exception(error), SecretLog())
    assert isinstance(failed, Failed)
    assert failed.message == "GET http://x/ answered 401: ***"
    assert failed.details.http_status == 401
    result = outcome.redacted(Done(result=json.dumps({"sent": [_SECRET]})), SecretLog())
    assert result == Done(result='{"sent":["***"]}')
