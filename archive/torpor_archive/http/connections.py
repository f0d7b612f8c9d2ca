"""Limits open connections: in total, of a remote address, and of an authenticated share, such as a namespace.

The API server's proxy is one address for many users. So a request counts for its address until its caller is known, and
then for the caller's share. Pure accounting; `listener` does the I/O. A connection with a request in progress is never
closed to make room.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """`idle` is in seconds: for the TLS handshake, for a complete request head, and between requests."""

    total: int = 512
    per_address: int = 64
    per_share: int = 48
    idle: float = 20.0


@dataclass(slots=True, eq=False)
class HttpConnection:
    """One connection. `close` closes it immediately."""

    address: str
    close: Callable[[], object]
    busy: bool = False
    """Whether a request is in progress."""
    share: str = ""
    """The share that the request counts for; empty while it counts for the address."""


class Connections:
    """The open connections of a port, oldest first. `on_refused` runs for each one refused or closed to make room."""

    def __init__(self, limits: ConnectionLimits, on_refused: Callable[[], object] = lambda: None) -> None:
        self.limits = limits
        self._on_refused = on_refused
        self._open: dict[HttpConnection, None] = {}
        self._count: Counter[str] = Counter()
        self._shares: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def admit(self, address: str, close: Callable[[], object]) -> HttpConnection | None:
        """Add a connection, closing an idle one if necessary. Returns None if the limit is reached."""
        if self._count[address] >= self.limits.per_address:
            victim = self._oldest_idle(address)
        elif len(self._open) >= self.limits.total:
            victim = self._oldest_idle_of_largest(address)
        else:
            return self._add(address, close)
        self._on_refused()
        if victim is None:
            return None
        self.remove(victim)
        victim.close()
        return self._add(address, close)

    def remove(self, connection: HttpConnection) -> None:
        """Remove a closed connection. Idempotent."""
        if connection in self._open:
            self.release(connection)
            del self._open[connection]
            self._count[connection.address] -= 1
            if not self._count[connection.address]:
                del self._count[connection.address]

    def assign(self, connection: HttpConnection, share: str) -> bool:
        """Count the request for a share instead of the address. Returns False if the share has reached its limit."""
        if connection not in self._open or connection.share == share:
            return True
        if self._shares[share] >= self.limits.per_share:
            return False
        self.release(connection)
        connection.share = share
        self._shares[share] += 1
        self._count[connection.address] -= 1
        return True

    def release(self, connection: HttpConnection) -> None:
        """Count a connection for its address again, after its request."""
        if connection.share:
            self._shares[connection.share] -= 1
            if not self._shares[connection.share]:
                del self._shares[connection.share]
            self._count[connection.address] += 1
            connection.share = ""

    def _add(self, address: str, close: Callable[[], object]) -> HttpConnection:
        connection = HttpConnection(address, close)
        self._open[connection] = None
        self._count[address] += 1
        return connection

    def _oldest_idle_of_largest(self, newcomer: str) -> HttpConnection | None:
        """Return the oldest idle connection of the address with most, if it has more than the new one's address."""
        for address, count in self._count.most_common():
            if count <= self._count[newcomer]:
                return None
            if (victim := self._oldest_idle(address)) is not None:
                return victim
        return None

    def _oldest_idle(self, address: str) -> HttpConnection | None:
        return next((each for each in self._open if each.address == address and not each.busy), None)
