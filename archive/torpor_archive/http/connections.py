"""Which connections are kept: a bound on all, a bound for each remote address, and who goes to make room.

Pure accounting; `listener` does the I/O. A connection that carries a request is never closed to make room.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """`idle` is in seconds: for the TLS handshake, for a whole request head, and between requests."""

    total: int = 512
    per_address: int = 64
    idle: float = 20.0


@dataclass(slots=True, eq=False)
class Connection:
    """One connection; `close` ends it at once."""

    address: str
    close: Callable[[], object]
    busy: bool = False
    """Whether a request is being answered."""


class Connections:
    """The open connections of one port, oldest first. `refused` is told of each that was refused or closed."""

    def __init__(self, limits: ConnectionLimits, refused: Callable[[], object] = lambda: None) -> None:
        self.limits = limits
        self._refused = refused
        self._open: dict[Connection, None] = {}
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def admit(self, address: str, close: Callable[[], object]) -> Connection | None:
        """Take a connection in, where necessary in the place of an idle one; None where there is no room."""
        if self._count[address] >= self.limits.per_address:
            found = self._oldest_idle(address)
        elif len(self._open) >= self.limits.total:
            found = self._of_the_largest(address)
        else:
            return self._add(address, close)
        self._refused()
        if found is None:
            return None
        self.remove(found)
        found.close()
        return self._add(address, close)

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended; once is enough."""
        if connection in self._open:
            del self._open[connection]
            self._count[connection.address] -= 1
            if not self._count[connection.address]:
                del self._count[connection.address]

    def _add(self, address: str, close: Callable[[], object]) -> Connection:
        made = Connection(address, close)
        self._open[made] = None
        self._count[address] += 1
        return made

    def _of_the_largest(self, newcomer: str) -> Connection | None:
        """The oldest idle connection of the address that has most, where that has more than the newcomer's."""
        for address, count in self._count.most_common():
            if count <= self._count[newcomer]:
                return None
            if (found := self._oldest_idle(address)) is not None:
                return found
        return None

    def _oldest_idle(self, address: str) -> Connection | None:
        return next((each for each in self._open if each.address == address and not each.busy), None)
