"""How many bytes a server may send: counted where they leave the socket, before a client library sees them.

A client library reads an answer whole, however large it is, so its own limits come too late. The triggerer's sockets
count instead and break the connection, and whoever asked raises `AnswerTooLargeError`, for this wait and no other.
"""

from collections.abc import Iterator


class AnswerTooLargeError(ValueError):
    """A server sent more than a wait may read."""


class AddressDeniedError(PermissionError):
    """The triggerer does not connect waits to this address."""


class OverrunError(ConnectionAbortedError):
    """The limit of a meter was reached, so the connection is broken."""


class Meter:
    """Counts what is received since it was last started; `exceeded` says that it was more than `limit` bytes."""

    __slots__ = ("exceeded", "limit", "received")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.received = 0
        self.exceeded = False

    def start(self) -> None:
        """Count from nothing again, for the next answer."""
        self.received = 0
        self.exceeded = False

    def add(self, count: int) -> None:
        """Count so many bytes. Raises OverrunError where that is too many."""
        self.received += count
        if self.received > self.limit:
            self.exceeded = True
            raise OverrunError(f"the answer is larger than {size(self.limit)}")

    def error(self) -> AnswerTooLargeError:
        """For the wait that asked."""
        return AnswerTooLargeError(f"the answer is larger than {size(self.limit)}: ask for less")


def overran(error: BaseException | None) -> bool:
    """Whether an error of a client library follows from a limit that was reached."""
    return any(isinstance(one, OverrunError) for one in _chain(error))


def denied(error: BaseException | None) -> AddressDeniedError | None:
    """The denial of an address that an error of a client library follows from."""
    return next((one for one in _chain(error) if isinstance(one, AddressDeniedError)), None)


def size(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, one in (("MiB", 1024**2), ("KiB", 1024)):
        if count >= one and count % one == 0:
            return f"{count // one} {unit}"
    return f"{count} bytes"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it was raised from or during."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
