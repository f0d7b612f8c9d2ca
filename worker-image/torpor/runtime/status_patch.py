"""One write that must end in a known way: repeated until it is stored, lost or refused.

The API server's answer can be missing (a timeout, a lost connection, an overload) though the write was stored, or is
about to be. So after an unclear answer the TaskRun is read and compared, and a failed `test` after that is not taken
for a lost race before it was read again. A `test` that fails and a value that breaks the schema are both 422; only the
second names causes.
"""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias

from torpor_wire.backoff import Backoff
from torpor_wire.transitions import Patch

from torpor.runtime.http import Answer, Exchange, UnclearError

_OK, _FORBIDDEN, _UNPROCESSABLE, _BROKEN = 200, 403, 422, 500
UNAUTHORIZED, NOT_FOUND, CONFLICT, TOO_MANY = 401, 404, 409, 429
_NO_ROLE = ("cannot get resource", "cannot patch resource")
"""An API server that has just started forbids everything in these words, until it has read the roles."""
_BACKOFF = Backoff(first=0.2, cap=10.0)


class Verdict(Enum):
    """What a TaskRun shows to the writer of a patch that got no answer."""

    OPEN = auto()
    MINE = auto()
    OTHERS = auto()


class Stored(NamedTuple):
    """The write stands; `body` is the TaskRun after it, or as it was found later."""

    body: Any


class Lost(NamedTuple):
    """Somebody else wrote first: the pin holds no more."""


class Refused(NamedTuple):
    """The API server will not have it; `invalid` where the values break the schema, which is a bug of ours."""

    message: str
    status: int
    invalid: bool


class Unsettled(NamedTuple):
    """RetryPolicy ran out without a clear answer."""

    message: str


Settled: TypeAlias = Stored | Lost | Refused | Unsettled


class RetryPolicy(NamedTuple):
    """How a write waits between its tries; `limit` seconds in all."""

    limit: float
    repeats: frozenset[int]
    """Statuses below 500 that are worth another try."""
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    """A number from 0 to 1: a whole cluster's pods must not come back at the same moment."""
    forbidden: float | None = None
    """After how many seconds of being told that there is no role this is believed; None: never before `limit`."""


def write(
    exchange: Exchange, path: str, patch: Patch, look: Callable[[Any], Verdict], patience: RetryPolicy
) -> Settled:
    """Sends the patch to the TaskRun's status until it is known what became of it."""
    unclear, began = "", patience.monotonic()
    for _ in tries(patience):
        said = _send(exchange, path, patch, patience)
        if isinstance(said, Lost) and unclear:
            said = Unsettled(unclear)
        if not isinstance(said, Unsettled):
            return said
        unclear = said.message
        found = _find(exchange, path, look, patience)
        if not isinstance(found, Unsettled):
            return found
        late = patience.forbidden is not None and patience.monotonic() - began >= patience.forbidden
        if late and has_no_role(unclear) and has_no_role(found.message):
            return Refused(unclear, _FORBIDDEN, invalid=False)
    return Unsettled(unclear)


def has_no_role(message: str) -> bool:
    """Whether the API server says that the account has no role for the request."""
    return any(words in message for words in _NO_ROLE)


def read(exchange: Exchange, path: str, patience: RetryPolicy) -> Settled:
    """The object at a path, asked for until there is a clear answer."""
    said: Settled = Unsettled("")
    for _ in tries(patience):
        said = _get(exchange, path, patience)
        if not isinstance(said, Unsettled):
            break
    return said


def _send(exchange: Exchange, path: str, patch: Patch, patience: RetryPolicy) -> Settled:
    try:
        answer = exchange("PATCH", f"{path}/status", list(patch))
    except UnclearError as error:
        return Unsettled(str(error))
    return tells(answer, patience.repeats)


def _find(exchange: Exchange, path: str, look: Callable[[Any], Verdict], patience: RetryPolicy) -> Settled:
    """What the TaskRun itself says; Unsettled where the patch is still to be written, or it cannot be read."""
    said = _get(exchange, path, patience)
    if not isinstance(said, Stored):
        return said
    match look(said.body):
        case Verdict.OPEN:
            return Unsettled("the answer was lost, and the write too")
        case Verdict.MINE:
            return said
        case Verdict.OTHERS:
            return Lost()


def _get(exchange: Exchange, path: str, patience: RetryPolicy) -> Settled:
    try:
        answer = exchange("GET", path)
    except UnclearError as error:
        return Unsettled(str(error))
    return tells(answer, patience.repeats)


def tells(answer: Answer, repeats: frozenset[int]) -> Settled:
    """What an answer settles."""
    body = answer.body if isinstance(answer.body, dict) else {}
    message = f"HTTP {answer.status}: {body.get('message', '')}"
    match answer.status:
        case status if _OK <= status < _OK + 100 and body:
            return Stored(body)
        case status if _OK <= status < _OK + 100 or status in repeats or status >= _BROKEN:
            return Unsettled(message)
        case status if status == _FORBIDDEN and has_no_role(message):
            return Unsettled(message)
        case status if status == _UNPROCESSABLE:
            causes = (body.get("details") or {}).get("causes")
            return Refused(message, answer.status, invalid=True) if causes else Lost()
        case _:
            return Refused(message, answer.status, invalid=False)


def tries(patience: RetryPolicy) -> Iterator[int]:
    """Counts tries, pausing between them, as long as there is patience."""
    end = patience.monotonic() + patience.limit
    count = 0
    while True:
        yield count
        count, now = count + 1, patience.monotonic()
        if now >= end:
            return
        patience.sleep(min(_BACKOFF.delay(count, patience.jitter()), max(end - now, 0)))
