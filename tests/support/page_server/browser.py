"""The page's server in front of an API server, and what a browser does with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_kubernetes.client.http import open_transport
from torpor_ui import app
from torpor_ui.http.security import CSRF_HEADER, Origins
from torpor_ui.sessions.local import LocalLogin

from tests.support.made_up_cluster import MadeUpApi
from tests.support.ports import free_port

Event = tuple[str, Any]
LIMIT_S = 60.0


def endpoint(api: MadeUpApi, token: str | None) -> ClusterEndpoint:
    async def authorization() -> str | None:
        return f"Bearer {token}" if token else None

    return ClusterEndpoint(host=api.url, tls=None, authorization=authorization)


@asynccontextmanager
async def listening(application: web.Application, port: int) -> AsyncIterator[None]:
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield
    finally:
        await runner.cleanup()


@dataclass(slots=True, kw_only=True)
class Browser:
    """One browser: cookies, the CSRF token, and the origin that it is at."""

    origin: str
    session: aiohttp.ClientSession
    application: web.Application
    csrf: str = ""

    async def get(self, path: str, **options: Any) -> Any:
        async with self.session.get(f"{self.origin}/{path}", **options) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def status(self, method: str, path: str, **options: Any) -> int:
        async with self.session.request(method, f"{self.origin}/{path}", **options) as response:
            return response.status

    def headers(self) -> dict[str, str]:
        """Those that the page sends with a request that acts."""
        return {"Origin": self.origin, CSRF_HEADER: self.csrf}

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator["EventReader"]:
        async with self.session.get(f"{self.origin}/{path}", timeout=aiohttp.ClientTimeout(), **options) as response:
            assert response.status == 200, await response.text()
            yield EventReader(response)


class EventReader:
    """Reads the events of a stream as EventSource does."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._rest = b""

    async def next(self) -> Event:
        async with asyncio.timeout(LIMIT_S):
            while True:
                while b"\n\n" not in self._rest:
                    chunk = await self._response.content.readany()
                    assert chunk, "the stream has ended"
                    self._rest += chunk
                block, _, self._rest = self._rest.partition(b"\n\n")
                fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
                if b"event" in fields:
                    return fields[b"event"].decode(), json.loads(fields[b"data"])

    async def until(self, name: str) -> Any:
        """Skip events up to one of this name."""
        while True:
            event, data = await self.next()
            if event == name:
                return data


@asynccontextmanager
async def opened_page(
    cluster: ClusterEndpoint, *, namespaces: tuple[str, ...] = ("data",), read_only: bool = False
) -> AsyncIterator[Browser]:
    """The page of `torpor ui`, opened by its link."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(open_transport(cluster))
        login, origins = LocalLogin(origin, lambda _: None), Origins(origins=frozenset({origin}))
        application = app.build(transport, login, origins, namespaces=namespaces, read_only=read_only)
        await stack.enter_async_context(listening(application, port))
        session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)))
        browser = Browser(origin=origin, session=session, application=application)
        async with session.get(login.link) as response:
            assert response.status == 200
        browser.csrf = (await browser.get("api/session"))["csrf"]
        yield browser
