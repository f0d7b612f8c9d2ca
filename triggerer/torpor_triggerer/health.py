"""Health, answered by the loop that runs the triggers: one that hangs does not answer.

`/livez` asks whether a restart would help, `/healthz` also whether this replica is a member of its pool.

The smallest HTTP server that a probe understands; it never says more than a line.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Never

from torpor_api.clock import Clock

BEAT = 1.0
LATE = 3.0
REQUEST_SECONDS = 5.0

log = logging.getLogger(__name__)


class Heartbeat:
    """How late the loop is: a beat a second, each noted when it came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._beat = clock.monotonic()

    def late(self) -> float:
        """Seconds by which the next beat is overdue."""
        return max(0.0, self._clock.monotonic() - self._beat - BEAT)

    async def run(self) -> Never:
        """Beat, for ever."""
        while True:
            self._beat = self._clock.monotonic()
            await self._clock.sleep(BEAT)


@asynccontextmanager
async def serve(port: int, checks: Mapping[str, Callable[[], str]]) -> AsyncIterator[int]:
    """Answer each path 200, or 503 with what is wrong. Yields the port, which `port` 0 leaves open."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(request, checks))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.debug("a probe went away: %s", error)
        finally:
            writer.close()

    listening = _listen(port)
    async with await asyncio.start_server(answer, sock=listening):
        yield int(listening.getsockname()[1])


def _listen(port: int) -> socket.socket:
    """One socket for IPv4 and IPv6, since a kubelet may use either."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def _response(request: bytes, checks: Mapping[str, Callable[[], str]]) -> bytes:
    path = b"".join(request.split(b" ", 2)[1:2]).decode(errors="replace")
    check = checks.get(path)
    complaint = check() if check else ""
    if check is None:
        status, body = "404 Not Found", f"there are {', '.join(checks)}"
    elif complaint:
        status, body = "503 Service Unavailable", complaint
    else:
        status, body = "200 OK", "ok"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body) + 1}\r\nConnection: close"
    return f"{head}\r\n\r\n{body}\n".encode()
