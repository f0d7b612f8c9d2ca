"""The page's server in front of an API server, and what a browser does with it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_kubernetes.client.http import open_transport
from torpor_ui import app
from torpor_ui.http.listener import listening
from torpor_ui.http.security import CSRF_HEADER, Origins
from torpor_ui.sessions.local import LocalLogin
from torpor_ui.sessions.session import Login
from torpor_wire.constants import SYSTEM_NAMESPACE

from tests.support.made_up_cluster import MadeUpApi

Event = tuple[str, Any]
MakeLogin = Callable[[str], Login]
LIMIT_S = 60.0


def endpoint(api: MadeUpApi, token: str | None) -> ClusterEndpoint:
    async def authorization() -> str | None:
        return f"Bearer {token}" if token else None

    return ClusterEndpoint(host=api.url, tls=None, authorization=authorization)


@dataclass(slots=True, kw_only=True)
class Browser:
    """One browser: its cookies, and the CSRF token of the page."""

    url: str
    """The address of the page, without a slash at its end."""
    session: aiohttp.ClientSession
    csrf: str = ""

    @property
    def origin(self) -> str:
        return "/".join(self.url.split("/")[:3])

    async def get(self, path: str, **options: Any) -> Any:
        async with self.session.get(f"{self.url}/{path}", **options) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def open(self) -> dict[str, Any]:
        """Read the session, and remember its CSRF token."""
        session: dict[str, Any] = await self.get("api/session")
        self.csrf = session["csrf"]
        return session

    async def status(self, method: str, path: str, **options: Any) -> int:
        async with self.session.request(method, f"{self.url}/{path}", **options) as response:
            return response.status

    def headers(self) -> dict[str, str]:
        """Those that the page sends with a request that acts."""
        return {"Origin": self.origin, CSRF_HEADER: self.csrf}

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator["EventReader"]:
        async with self.session.get(f"{self.url}/{path}", timeout=aiohttp.ClientTimeout(), **options) as response:
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

    async def until(self, name: str, member: str = "") -> Any:
        """Skip events up to one of this name, which has a member."""
        while True:
            event, data = await self.next()
            if event == name and (not member or member in data):
                return data


@asynccontextmanager
async def served_page(cluster: ClusterEndpoint, make: MakeLogin, **options: Any) -> AsyncIterator[Browser]:
    """The page with the login that `make` returns for its origin, and a browser that has not opened it."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setblocking(False)
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = await stack.enter_async_context(open_transport(cluster))
        origins = Origins(origins=frozenset({origin}))
        application = app.build(transport, make(origin), origins, **options)
        await stack.enter_async_context(listening(application, listener))
        browser = await stack.enter_async_context(new_browser(origin + options.get("base", "")))
        yield browser


@asynccontextmanager
async def new_browser(url: str) -> AsyncIterator[Browser]:
    """A browser without cookies."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield Browser(url=url, session=session)


@asynccontextmanager
async def opened_page(
    cluster: ClusterEndpoint,
    *,
    namespaces: tuple[str, ...] = ("data",),
    read_only: bool = False,
    system: str = SYSTEM_NAMESPACE,
) -> AsyncIterator[Browser]:
    """The page of `torpor ui`, opened by its link."""
    logins: list[LocalLogin] = []

    def make(origin: str) -> LocalLogin:
        logins.append(LocalLogin(origin, lambda _: None))
        return logins[0]

    async with served_page(cluster, make, namespaces=namespaces, read_only=read_only, system=system) as browser:
        async with browser.session.get(logins[0].link) as response:
            assert response.status == 200
        await browser.open()
        yield browser
