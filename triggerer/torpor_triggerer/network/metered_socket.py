"""A socket that counts what it receives, whichever client library reads from it, and says when it is closed."""

import socket
from collections.abc import Callable
from typing import Any

from torpor.triggers.support.metering import Meter


class MeteredSocket(socket.socket):
    """A socket that counts what it receives, and says once when it is closed."""

    meter: Meter | None = None
    on_close: Callable[[], None] | None = None

    def recv(self, *given: Any) -> bytes:
        """Some bytes. Raises OverrunError past the limit."""
        found = super().recv(*given)
        if self.meter is not None:
            self.meter.add(len(found))
        return found

    def recv_into(self, *given: Any) -> int:
        """How many bytes were put into a buffer. Raises OverrunError past the limit."""
        count = super().recv_into(*given)
        if self.meter is not None:
            self.meter.add(count)
        return count

    def close(self) -> None:
        """Close it."""
        super().close()
        closed, self.on_close = self.on_close, None
        if closed is not None:
            closed()
