"""A proxy between one component and the API server, which disturbs requests and counts executed writes.

Its own side is plain HTTP on loopback, or TLS with a certificate that the CA of the control plane issued. It must not
retry. Without rates it changes nothing.
"""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import aiohttp
from aiohttp import web
from yarl import URL

from tests.integration.faults.proxy_faults import ProxyFault, choose

_FORWARDED = ("Authorization", "Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_RETURNED = ("Content-Type", "Content-Encoding", "Retry-After", "Warning")
_ENDS = frozenset({ProxyFault.CUT_WATCH, ProxyFault.EXPIRE_WATCH})
_WATCH_STEP = 1.0
_BODY_MAX = 16 * 1024 * 1024
_STATUSES = {
    ProxyFault.TOO_MANY_REQUESTS: (429, "TooManyRequests"),
    ProxyFault.SERVER_ERROR: (500, "InternalError"),
    ProxyFault.UNAUTHORIZED: (401, "Unauthorized"),
}


@dataclass(kw_only=True, eq=False)
class FaultyProxy:
    """`rates` are the probabilities of faults. `on_write` is called with the number of writes executed so far.

    It is called before the response is returned. Writes of Leases and Events do not count.
    """

    upstream: str
    session: aiohttp.ClientSession
    random: Random
    rates: Mapping[ProxyFault, float] = field(default_factory=dict)
    struck: Counter[ProxyFault] = field(default_factory=Counter)
    writes: int = 0
    on_write: Callable[[int], None] | None = None
    url: str = ""

    async def open(self, tls: ssl.SSLContext | None = None) -> web.AppRunner:
        """Listen on a free port of loopback."""
        application = web.Application(client_max_size=_BODY_MAX)
        application.router.add_route("*", "/{path:.*}", self._pass)
        runner = web.AppRunner(application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        host, port = runner.addresses[0][:2]
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"
        return runner

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        watch = request.query.get("watch") in {"1", "true"}
        fault = choose(self.rates, self.random.random(), method=request.method, watch=watch)
        if fault is not None and fault not in _ENDS:
            self.struck[fault] += 1
        body = await request.read()
        match fault:
            case ProxyFault.DROP:
                return _abort(request)
            case ProxyFault.TOO_MANY_REQUESTS | ProxyFault.SERVER_ERROR | ProxyFault.UNAUTHORIZED:
                return _failed(fault)
            case ProxyFault.DELAY:
                await asyncio.sleep(self.random.random())
        try:
            if fault is ProxyFault.REPEAT:
                async with self._send(request, body) as first:
                    await first.read()
            async with self._send(request, body) as answer:
                self._count(request, answer)
                if fault is ProxyFault.LOSE_RESPONSE:
                    await answer.read()
                    return _abort(request)
                if watch and answer.ok:
                    return await self._forward_watch(request, answer)
                return await _forward(request, answer)
        except aiohttp.ClientError:
            pass
        return _abort(request)

    async def _forward_watch(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Pass on a stream. At each part, and each second, it may be cut, or expire."""
        response = await _begin(request, answer)
        with suppress(ConnectionResetError):  # the caller has gone
            while True:
                fault = choose(self.rates, self.random.random(), method="GET", watch=True)
                if fault in _ENDS:
                    self.struck[fault] += 1
                if fault is ProxyFault.CUT_WATCH:
                    return _abort(request)
                if fault is ProxyFault.EXPIRE_WATCH:
                    await response.write(_EXPIRED)
                    break
                try:
                    async with asyncio.timeout(_WATCH_STEP):
                        chunk = await answer.content.readany()
                except TimeoutError:
                    continue
                if not chunk:
                    break
                await response.write(chunk)
            await response.write_eof()
        return response

    def _send(self, request: web.Request, body: bytes) -> "aiohttp.client._RequestContextManager":
        headers = {"Accept-Encoding": "identity"}
        headers |= {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        url = URL(self.upstream + request.raw_path, encoded=True)
        return self.session.request(request.method, url, data=body or None, headers=headers)

    def _count(self, request: web.Request, answer: aiohttp.ClientResponse) -> None:
        if request.method != "GET" and answer.ok and not _is_uncounted(request.path):
            self.writes += 1
            if self.on_write is not None:
                self.on_write(self.writes)


def _is_uncounted(path: str) -> bool:
    return "/leases" in path or "/events" in path or "reviews" in path


async def _begin(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    returned = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
    response = web.StreamResponse(status=answer.status, headers=returned)
    await response.prepare(request)
    return response


async def _forward(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    with suppress(ConnectionResetError):  # the caller has gone
        response = await _begin(request, answer)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response
    return _abort(request)


def _abort(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


def _failed(fault: ProxyFault) -> web.Response:
    status, reason = _STATUSES[fault]
    headers = {"Retry-After": "1"} if status == 429 else {}
    return web.json_response(_status(status, reason), status=status, headers=headers)


def _status(code: int, reason: str) -> dict[str, object]:
    base = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return base | {"code": code, "reason": reason, "message": f"a fault of {code}"}


_EXPIRED = json.dumps({"type": "ERROR", "object": _status(410, "Expired")}).encode() + b"\n"
