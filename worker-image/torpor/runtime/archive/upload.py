"""Uploads a result that is too large for its TaskRun to the archive, before the report.

It is retried for minutes, because hours of work may depend on it. A body is named by its digest, so a repeated upload
is stored once. A body that the archive rejects fails the task without a retry. An archive that is unavailable fails the
attempt.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from torpor_wire.reason import Reason

from torpor.errors import RejectedError, UnreadableError
from torpor.runtime import outcome, status_patch
from torpor.runtime.archive.client import ArchiveConnection
from torpor.runtime.http import ApiResponse, UnclearError
from torpor.runtime.outcome import Outcome, Success, TaskFailure
from torpor.runtime.result_encoding import Body

LIMIT_S = 300.0
_BAD, _TOO_LARGE, _NO_ROOM = 400, 413, 507
_FIELDS = ("size", "digest", "type", "length", "keys", "name")


class Passing:
    """Counts the bytes of pieces and computes their digest."""

    def __init__(self) -> None:
        self.size = 0
        self.digest = hashlib.sha256()

    def count(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces."""
        for piece in pieces:
            self.size += len(piece)
            self.digest.update(piece)
            yield piece

    def agrees(self, description: Any) -> bool:
        """Return whether the archive describes what was sent."""
        return isinstance(description, Mapping) and (description.get("size"), description.get("digest")) == (
            self.size,
            self.digest.hexdigest(),
        )


def kept(to: ArchiveConnection, body: Body, retry_policy: status_patch.RetryPolicy) -> Outcome:
    """Return the outcome with the archive's description of the body, or the failure."""
    problem = ""
    try:
        for _ in status_patch.attempts(retry_policy):
            result = _put(to, body, retry_policy)
            if not isinstance(result, status_patch.Indeterminate):
                return result
            problem = result.message
    except (RejectedError, UnreadableError) as error:  # from the value itself, while it was encoded
        return outcome.from_exception(error)
    finally:
        to.close()
    return not_stored(problem)


def _put(
    to: ArchiveConnection, body: Body, retry_policy: status_patch.RetryPolicy
) -> Outcome | status_patch.Indeterminate:
    passing = Passing()
    name = {} if body.name is None else {"Torpor-Name": quote(body.name)}
    headers = {"Content-Type": body.content_type, "Torpor-Type": body.kind, **name}
    try:
        answer = to.put(headers, passing.count(body.pieces()))
    except UnclearError as error:
        return status_patch.Indeterminate(str(error))
    if answer.status == _NO_ROOM:  # the quota of the namespace does not change within minutes
        return not_stored(_response_text(answer))
    match status_patch.interpret(answer, retry_policy.repeats):
        case status_patch.WriteStored(description) if passing.agrees(description):
            return Success(None, {name: description[name] for name in _FIELDS if description.get(name) is not None})
        case status_patch.WriteStored():
            return status_patch.Indeterminate(f"the archive stored another body than the {passing.size} bytes sent")
        case status_patch.Indeterminate() as indeterminate:
            return indeterminate
        case status_patch.WriteRefused(message, status) if status in {_BAD, _TOO_LARGE}:
            return TaskFailure(Reason.RESULT_INVALID, f"the archive rejects the result: {message}", retryable=False)
        case problem:
            return not_stored(problem.message)


def _response_text(answer: ApiResponse) -> str:
    body = answer.body if isinstance(answer.body, dict) else {}
    return f"HTTP {answer.status}: {body.get('message', '')}"


def not_stored(message: str) -> TaskFailure:
    """Return the failure of an attempt whose result could not be uploaded."""
    return TaskFailure(Reason.RESULT_NOT_STORED, f"the result is not in the archive: {message}", retryable=True)
