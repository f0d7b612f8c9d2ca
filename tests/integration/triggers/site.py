"""An HTTP server on the loopback that answers as a test scripts it, and notes what it was asked."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web
from torpor_triggerer.services.http import OutboundHttpClient, connect

from tests.support import trigger_services

Reply: TypeAlias = Callable[["ReceivedRequest"], web.Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """One request that arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass(kw_only=True)
class HttpSite:
    """`replies` are given one after the other, the last one for ever."""

    client: OutboundHttpClient
    replies: list[Reply]
    url: str = ""
    requests: list[ReceivedRequest] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = ReceivedRequest(method=request.method, path=request.path, headers=headers, body=await request.text())
        self.requests.append(received)
        return (self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])(received)


def says(status: int = 200, json: Any = None, **headers: str) -> Reply:
    """The same answer whatever is asked; `Retry_After` is the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def reply(_: ReceivedRequest) -> web.Response:
        return web.json_response(json, status=status, headers=named)

    return reply


@asynccontextmanager
async def site(*replies: Reply) -> AsyncIterator[HttpSite]:
    """A server and a client of the triggerer's for it."""
    async with connect(trigger_services.network()) as client:
        server = HttpSite(client=client, replies=list(replies))
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", server.answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield server
        finally:
            await runner.cleanup()
