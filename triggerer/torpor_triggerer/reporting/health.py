"""Health and metrics, answered by the loop that runs the triggers: one that hangs does not answer.

`/livez` asks whether a restart would help, `/healthz` also whether this replica is a member of its pool.

The smallest HTTP server that a probe and Prometheus understand: one request a connection, and nothing of the request is
believed but its path.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import NamedTuple, Never

from torpor_api.timing import Clock

BEAT = 1.0
LATE = 3.0
REQUEST_SECONDS = 5.0
_NO_PAGES: Mapping[str, "Page"] = MappingProxyType({})

log = logging.getLogger(__name__)


class Heartbeat:
    """How late the loop is: a beat a second, each noted when it came; `note` is told by how much it was late."""

    def __init__(self, clock: Clock, note: Callable[[float], None]) -> None:
        self._clock = clock
        self._note = note
        self._beat = clock.monotonic()

    def late(self) -> float:
        """Seconds by which the next beat is overdue."""
        return max(0.0, self._clock.monotonic() - self._beat - BEAT)

    async def run(self) -> Never:
        """Beat, for ever."""
        while True:
            self._beat = self._clock.monotonic()
            await self._clock.sleep(BEAT)
            self._note(self.late())


class Page(NamedTuple):
    """What is read rather than asked: its type, and what makes it."""

    content_type: str
    text: Callable[[], bytes]


class _Answer(NamedTuple):
    status: str
    body: bytes
    content_type: str = "text/plain"


@asynccontextmanager
async def serve(
    port: int, checks: Mapping[str, Callable[[], str]], pages: Mapping[str, Page] = _NO_PAGES
) -> AsyncIterator[int]:
    """Answer each check 200, or 503 with what is wrong, and each page with its text.

    Yields the port, which `port` 0 leaves open.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(_answer(_path(request), checks, pages)))
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


def _path(request: bytes) -> str:
    target = b"".join(request.split(b" ", 2)[1:2]).decode(errors="replace")
    return target.partition("?")[0]


def _answer(path: str, checks: Mapping[str, Callable[[], str]], pages: Mapping[str, Page]) -> _Answer:
    if path in pages:
        return _read(pages[path])
    check = checks.get(path)
    if check is None:
        return _Answer("404 Not Found", f"there are {', '.join((*checks, *pages))}\n".encode())
    complaint = check()
    if complaint:
        return _Answer("503 Service Unavailable", f"{complaint}\n".encode())
    return _Answer("200 OK", b"ok\n")


def _read(page: Page) -> _Answer:
    try:
        return _Answer("200 OK", page.text(), page.content_type)
    except Exception:
        log.exception("the page cannot be made")
        return _Answer("500 Internal Server Error", b"it cannot be made; the log says why\n")


def _response(answer: _Answer) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + answer.body
