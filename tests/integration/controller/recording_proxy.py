"""A proxy to the API server for one process. It records every request, and can respond with an error instead.

Its own side is plain HTTP, so that the requests can be read; tokens pass through. It must not retry, delay or change
anything: while the API server does not respond, neither does the proxy.
"""

import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import aiohttp
from aiohttp import web
from yarl import URL

_FORWARDED = ("Authorization", "Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_RETURNED = ("Content-Type", "Content-Encoding", "Retry-After")
_CANNOT_NOW = (429, 500, 503, 504)
_BODY_MAX = 16 * 1024 * 1024


class Call(NamedTuple):
    """One request. `moment` is when it came in, monotonic."""

    moment: float
    method: str
    path: str
    watch: bool

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def about_leases(self) -> bool:
        return "/leases" in self.path


@dataclass(kw_only=True)
class RecordingProxy:
    """`url` is its address. `fault` is a status code that it responds with to all requests but those of Leases."""

    upstream: str
    session: aiohttp.ClientSession
    url: str = ""
    fault: int | None = None
    calls: list[Call] = field(default_factory=list)
    unserved: list[Call] = field(default_factory=list)
    """Requests without a response, or with one that asks to retry later."""
    granted: list[Call] = field(default_factory=list)
    """Writes that the API server executed."""

    async def open(self) -> web.AppRunner:
        application = web.Application(client_max_size=_BODY_MAX)
        application.router.add_route("*", "/{path:.*}", self._pass)
        runner = web.AppRunner(application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return runner

    def since(self, moment: float) -> list[Call]:
        return [call for call in self.calls if call.moment >= moment]

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        watch = request.query.get("watch") in {"1", "true"}
        call = Call(time.monotonic(), request.method, request.path, watch)
        self.calls.append(call)
        body = await request.read()
        if self.fault is not None and not call.about_leases:
            return _failed(self.fault)
        headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        url = URL(self.upstream + request.raw_path, encoded=True)
        try:
            async with self.session.request(request.method, url, data=body or None, headers=headers) as answer:
                if answer.status in _CANNOT_NOW:
                    self.unserved.append(call)
                if call.writes and answer.ok:
                    self.granted.append(call)
                passed = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
                response = web.StreamResponse(status=answer.status, headers=passed)
                await response.prepare(request)
                with suppress(ConnectionResetError):  # who asked has gone
                    async for chunk in answer.content.iter_any():
                        await response.write(chunk)
                    await response.write_eof()
                return response
        except aiohttp.ClientError:
            self.unserved.append(call)
            if request.transport is not None:
                request.transport.abort()
            raise web.HTTPBadGateway from None


def tally(calls: Iterable[Call]) -> Counter[str]:
    """How many calls of which kind, for a message."""
    return Counter(f"{'WATCH' if call.watch else call.method} {call.path}" for call in calls)


def _failed(status: int) -> web.Response:
    reason = {410: "Expired", 429: "TooManyRequests", 500: "InternalError"}[status]
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason}
    return web.json_response(body | {"message": f"a fault of {status}"}, status=status)
