"""Chromium, the page's server in front of a made-up cluster, and windows in which nothing may go wrong.

All tests of this folder run in the event loop of the session, to which the browser belongs: each file begins with
`pytestmark = pytest.mark.asyncio(loop_scope="session")`. Without a browser the tests skip and say why.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser import census
from tests.support.browser import program
from tests.support.browser.observer import Observer
from tests.support.browser.page import ServedPage, serve_page
from tests.support.browser.window import BrowserScreen, BrowserWindow
from tests.support.made_up_cluster import MadeUpApi, User, serve
from tests.support.made_up_cluster.content import NAMESPACES, Size, fill
from tests.support.page_server.browser import endpoint

OpenPage = Callable[..., Awaitable[Observer]]
OpenView = Callable[..., Awaitable[BrowserWindow]]
SIZE = Size(runs=120, instances=600, taskruns=200, archived=80)


@pytest.fixture(scope="session")
def browser_program() -> program.BrowserProgram:
    """Chromium on this machine."""
    try:
        return program.find()
    except program.NoBrowserError as error:
        pytest.skip(f"no browser: {error}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(browser_program: program.BrowserProgram) -> AsyncIterator[Browser]:
    """A running browser."""
    async with program.started(browser_program) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cluster() -> AsyncIterator[MadeUpApi]:
    """A cluster with some hundred runs. `ann` may read the namespace `data` and change nothing."""
    users = {
        "admin-token": User(name="admin", reads={"*"}, changes={"*"}),
        "ann-token": User(name="ann", reads={"data"}),
    }
    async with serve(MadeUpApi(users=users)) as api:
        fill(api, SIZE)
        census.add(api)
        yield api


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(cluster: MadeUpApi) -> AsyncIterator[ServedPage]:
    """The page of the administrator."""
    async with serve_page(endpoint(cluster, "admin-token"), namespaces=NAMESPACES) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[OpenPage]:
    """Opens an address in a window of its own. A test fails if a window logs an error or asks another host."""
    observers: list[Observer] = []
    async with AsyncExitStack() as stack:

        async def opened(url: str, screen: BrowserScreen | None = None) -> Observer:
            context = await stack.enter_async_context((screen or BrowserScreen()).context(browser))
            observer = Observer(page=await context.new_page(), origin="/".join(url.split("/")[:3]))
            observers.append(observer)
            await observer.start()
            await observer.page.goto(url)
            return observer

        yield opened
    assert [problem for observer in observers for problem in observer.all_problems()] == []


@pytest_asyncio.fixture(loop_scope="session")
async def open_view(browser: Browser, server: ServedPage) -> AsyncIterator[OpenView]:
    """Opens a view of the page, logged in: `await open_view("runs")`. Fails a test as `open_page` does.

    `answers` replaces answers of the server by their paths below `api/`.
    """
    windows: list[BrowserWindow] = []
    async with AsyncExitStack() as stack:

        async def opened(
            path: str,
            *,
            screen: BrowserScreen | None = None,
            answers: dict[str, object] | None = None,
            of: ServedPage = server,
        ) -> BrowserWindow:
            context = await stack.enter_async_context((screen or BrowserScreen()).context(browser))
            await context.request.get(of.login.link)
            window = BrowserWindow(page=await context.new_page(), origin=of.origin)
            windows.append(window)
            await window.observer.start()
            await window.replace(answers or {})
            await window.open(path)
            return window

        yield opened
    assert [problem for window in windows for problem in window.observer.all_problems()] == []
