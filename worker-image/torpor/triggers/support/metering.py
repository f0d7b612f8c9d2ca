"""Limits the bytes that a server may send, counted at the socket.

Client libraries read whole responses, so their own limits come too late. The triggerer's sockets count, and break the
connection. The poll that asked raises `AnswerTooLargeError`; others are not affected.
"""

from collections.abc import Iterator


class AnswerTooLargeError(ValueError):
    """A server sent more than the limit."""


class AddressDeniedError(PermissionError):
    """The triggerer does not connect to this address."""


class ShareInUseError(OSError):
    """The namespace has as many requests under way as it may have; nothing was sent."""


class NoResponseError(OSError):
    """A request had no response. It may have arrived."""


class UnexpectedResponseError(Exception):
    """A response has a status that was not expected. `retry_after`: the seconds that it asks to wait, or 0."""

    def __init__(self, words: str, *, status: int, retry_after: float) -> None:
        super().__init__(words)
        self.status = status
        self.retry_after = retry_after


class OverrunError(ConnectionAbortedError):
    """A connection was closed because a meter reached its limit."""


class ByteMeter:
    """Counts received bytes since its last start. `exceeded` means more than `limit` bytes."""

    __slots__ = ("exceeded", "limit", "received")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.received = 0
        self.exceeded = False

    def start(self) -> None:
        """Reset the count for the next response."""
        self.received = 0
        self.exceeded = False

    def add(self, count: int) -> None:
        """Count received bytes. Raises OverrunError above the limit."""
        self.received += count
        if self.received > self.limit:
            self.exceeded = True
            raise OverrunError(f"the response is larger than {size(self.limit)}")

    def error(self) -> AnswerTooLargeError:
        """Return the error for the deferral that asked."""
        return AnswerTooLargeError(f"the response is larger than {size(self.limit)}: ask for less")


def overran(error: BaseException | None) -> bool:
    """Return whether an error was caused by a meter that reached its limit."""
    return any(isinstance(cause, OverrunError) for cause in _chain(error))


def denied(error: BaseException | None) -> AddressDeniedError | None:
    """Return the denied address that caused an error, or None."""
    return next((cause for cause in _chain(error) if isinstance(cause, AddressDeniedError)), None)


def size(count: int) -> str:
    """Return a number of bytes as text."""
    for unit, factor in (("MiB", 1024**2), ("KiB", 1024)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} bytes"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
