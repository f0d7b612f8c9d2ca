"""Writes a status patch until its fate is known: stored, lost or refused.

A response may be missing (timeout, lost connection, overload) although the write was stored or is about to be. So after
an unclear response the TaskRun is read and compared, and a failed `test` then counts as a lost race only after another
read. A failed `test` and a value that violates the schema are both 422; only the latter has causes.
"""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias

from torpor_wire.retry import Backoff
from torpor_wire.transitions import Patch

from torpor.runtime.http import ApiResponse, UnclearError, WorkerTransport

_OK, _FORBIDDEN, _UNPROCESSABLE, _BROKEN = 200, 403, 422, 500
UNAUTHORIZED, NOT_FOUND, CONFLICT, TOO_MANY = 401, 404, 409, 429
_NO_ROLE = ("cannot get resource", "cannot patch resource")
"""Messages of an API server that has not loaded its roles yet: it forbids everything."""
_BACKOFF = Backoff(first=0.2, cap=10.0)


class WriteState(Enum):
    """What a TaskRun shows to the writer of a patch without a response."""

    OPEN = auto()
    MINE = auto()
    OTHERS = auto()


class WriteStored(NamedTuple):
    """The write is stored. `body` is the TaskRun after it."""

    body: Any


class WriteLost(NamedTuple):
    """Another writer was first; the preconditions no longer hold."""

    message: str = "HTTP 422"


class WriteRefused(NamedTuple):
    """The API server rejects the write. `invalid` means that its values violate the schema, which is a bug."""

    message: str
    status: int
    invalid: bool


class Indeterminate(NamedTuple):
    """The retries ended without a clear response."""

    message: str


WriteResult: TypeAlias = WriteStored | WriteLost | WriteRefused | Indeterminate


class RetryPolicy(NamedTuple):
    """How to retry requests, for up to `limit` seconds."""

    limit: float
    repeats: frozenset[int]
    """Statuses below 500 to retry."""
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    """Returns a number from 0 to 1, so that the pods of a cluster do not retry at the same time."""
    forbidden: float | None = None
    """Seconds after which a missing role is final; None for never before `limit`."""


def write(
    transport: WorkerTransport,
    path: str,
    patch: Patch,
    state_of: Callable[[Any], WriteState],
    retry_policy: RetryPolicy,
) -> WriteResult:
    """Send the patch to the status of the TaskRun until its fate is known."""
    last_message, began = "", retry_policy.monotonic()
    for _ in attempts(retry_policy):
        result = _request(transport, retry_policy, "PATCH", f"{path}/status", list(patch))
        if isinstance(result, WriteLost) and last_message:
            result = Indeterminate(last_message)
        if not isinstance(result, Indeterminate):
            return result
        last_message = result.message
        observed = _find(transport, path, state_of, retry_policy)
        if not isinstance(observed, Indeterminate):
            return observed
        late = retry_policy.forbidden is not None and retry_policy.monotonic() - began >= retry_policy.forbidden
        if late and has_no_role(last_message) and has_no_role(observed.message):
            return WriteRefused(last_message, _FORBIDDEN, invalid=False)
    return Indeterminate(last_message)


def has_no_role(message: str) -> bool:
    """Return whether a message says that the account has no role for the request."""
    return any(words in message for words in _NO_ROLE)


def read(transport: WorkerTransport, path: str, retry_policy: RetryPolicy) -> WriteResult:
    """Return the object at a path, with retries until there is a clear response."""
    result: WriteResult = Indeterminate("")
    for _ in attempts(retry_policy):
        result = _request(transport, retry_policy, "GET", path)
        if not isinstance(result, Indeterminate):
            break
    return result


def _find(
    transport: WorkerTransport, path: str, state_of: Callable[[Any], WriteState], retry_policy: RetryPolicy
) -> WriteResult:
    """Return the fate of the patch from the TaskRun; Indeterminate if it is still to be written or cannot be read."""
    result = _request(transport, retry_policy, "GET", path)
    if not isinstance(result, WriteStored):
        return result
    match state_of(result.body):
        case WriteState.OPEN:
            return Indeterminate("there was no response, and the write is not stored")
        case WriteState.MINE:
            return result
        case WriteState.OTHERS:
            return WriteLost()


def _request(transport: WorkerTransport, retry_policy: RetryPolicy, *request: Any) -> WriteResult:
    try:
        answer = transport(*request)
    except UnclearError as error:
        return Indeterminate(str(error))
    return interpret(answer, retry_policy.repeats)


def interpret(answer: ApiResponse, repeats: frozenset[int]) -> WriteResult:
    """Return what a response settles."""
    body = answer.body if isinstance(answer.body, dict) else {}
    message = f"HTTP {answer.status}: {body.get('message', '')}"
    match answer.status:
        case status if _OK <= status < _OK + 100 and body:
            return WriteStored(body)
        case status if _OK <= status < _OK + 100 or status in repeats or status >= _BROKEN:
            return Indeterminate(message)
        case status if status == _FORBIDDEN and has_no_role(message):
            return Indeterminate(message)
        case status if status == _UNPROCESSABLE:
            causes = (body.get("details") or {}).get("causes")
            return WriteRefused(message, answer.status, invalid=True) if causes else WriteLost()
        case _:
            return WriteRefused(message, answer.status, invalid=False)


def attempts(retry_policy: RetryPolicy) -> Iterator[int]:
    """Count the tries, with delays between them, up to the limit."""
    end = retry_policy.monotonic() + retry_policy.limit
    count = 0
    while True:
        yield count
        count, now = count + 1, retry_policy.monotonic()
        if now >= end:
            return
        retry_policy.sleep(min(_BACKOFF.delay(count, retry_policy.jitter()), max(end - now, 0)))
