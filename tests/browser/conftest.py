"""Chromium, and windows in it. Without a browser the tests skip and say why.

All tests of this folder run in the event loop of the session, to which the browser belongs: each file begins with
`pytestmark = pytest.mark.asyncio(loop_scope="session")`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.support.browser import program
from tests.support.browser.observer import Observer

OpenPage = Callable[..., Awaitable[Observer]]


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


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[OpenPage]:
    """Opens an address in a window of its own. A test fails if a window logs an error or asks another host.

    `theme`, `width` and `height` are those of the person's screen.
    """
    observers: list[Observer] = []

    async def opened(url: str, *, theme: str = "light", width: int = 1440, height: int = 900) -> Observer:
        context = await browser.new_context(
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            timezone_id="Europe/Berlin",
            locale="en-GB",
        )
        page: Page = await context.new_page()
        observer = Observer(page=page, origin="/".join(url.split("/")[:3]))
        observers.append(observer)
        await observer.start()
        await page.goto(url)
        return observer

    yield opened
    for observer in observers:
        await observer.page.context.close()
    assert [problem for observer in observers for problem in observer.all_problems()] == []
