"""A socket that counts the bytes it receives, for any client library."""

import socket
from collections.abc import Callable
from typing import Any

from torpor.triggers.support.metering import ByteMeter


class MeteredSocket(socket.socket):
    """Counts received bytes, and calls `on_close` once."""

    meter: ByteMeter | None = None
    on_close: Callable[[], None] | None = None

    def recv(self, *given: Any) -> bytes:
        """Receive bytes. Raises OverrunError past the limit."""
        data = super().recv(*given)
        if self.meter is not None:
            self.meter.add(len(data))
        return data

    def recv_into(self, *given: Any) -> int:
        """Receive bytes into a buffer and return their number. Raises OverrunError past the limit."""
        count = super().recv_into(*given)
        if self.meter is not None:
            self.meter.add(count)
        return count

    def close(self) -> None:
        """Close the socket."""
        super().close()
        closed, self.on_close = self.on_close, None
        if closed is not None:
            closed()
