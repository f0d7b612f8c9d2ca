"""A window of the page, and the screen that it is on."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, Locator, Page, Route

from tests.support.browser.observer import Observer
from tests.support.browser.program import PATIENCE

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserScreen:
    """What a person has before them."""

    theme: Theme = "light"
    width: int = 1440
    height: int = 900

    @asynccontextmanager
    async def context(self, browser: Browser) -> AsyncIterator[BrowserContext]:
        """A profile of the browser on this screen, in Berlin, without animations."""
        context = await browser.new_context(
            color_scheme=self.theme,
            viewport={"width": self.width, "height": self.height},
            reduced_motion="reduce",
            timezone_id="Europe/Berlin",
            locale="en-GB",
        )
        context.set_default_timeout(PATIENCE)
        try:
            yield context
        finally:
            await context.close()


PHONE = BrowserScreen(width=390, height=800)


@dataclass(kw_only=True)
class BrowserWindow:
    """A window, with what it observed and what it sent."""

    page: Page
    origin: str
    observer: Observer = field(init=False)
    sent: list[tuple[str, Any]] = field(default_factory=list)
    """The path and body of each request that a replaced answer served."""

    def __post_init__(self) -> None:
        self.observer = Observer(page=self.page, origin=self.origin)

    async def open(self, path: str) -> None:
        """Load a path of the page."""
        await self.page.goto(f"{self.origin}/{path}")

    async def replace(self, answers: Mapping[str, object]) -> None:
        """Answer requests for paths below `api/`, with or without a query, without the server."""
        for path, answer in answers.items():
            await self.page.route(f"{self.origin}/api/{path}*", self._answering(path, answer))

    def _answering(self, path: str, answer: object) -> Any:
        async def fulfil(route: Route) -> None:
            self.sent.append((path, route.request.post_data_json if route.request.method == "POST" else None))
            await route.fulfill(status=200, content_type="application/json", body=json.dumps(answer))

        return fulfil

    def button(self, name: str) -> Locator:
        """A button by the start of its name."""
        return self.page.get_by_role("button", name=name).first

    async def seen(self, text: str) -> None:
        """Wait until the page shows a text."""
        await self.page.get_by_text(text).first.wait_for()
