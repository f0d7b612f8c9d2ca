"""The harness itself: what a page does wrong is seen."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from tests.browser.conftest import OpenPage
from tests.support.browser import accessibility

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[str]:
    """Serves pages by their names."""
    pages = {
        "good": '<!doctype html><html lang="en"><title>t</title><main><h1>Good</h1></main></html>',
        "error": '<!doctype html><script>console.error("broken")</script>',
        "exception": "<!doctype html><script>throw new Error('thrown')</script>",
        "foreign": '<!doctype html><img src="http://127.0.0.1:9/x.png">',
        "slow": "<!doctype html><script>setTimeout(() => { const end = performance.now() + 200; "
        "while (performance.now() < end); }, 50);</script>",
        "unreadable": '<!doctype html><html lang="en"><title>t</title><p style="color: #ccc">grey</p></html>',
    }

    async def serve(request: web.Request) -> web.Response:
        return web.Response(text=pages.get(request.match_info["name"], ""), content_type="text/html")

    app = web.Application()
    app.router.add_get("/{name}", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_page_without_problems_has_none(site: str, open_page: OpenPage) -> None:
    observer = await open_page(f"{site}/good")
    assert await observer.page.inner_text("h1") == "Good"
    assert observer.all_problems() == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("error", "error: broken"),
        ("exception", "exception: thrown"),
        ("foreign", "request to another host: http://127.0.0.1:9/x.png"),
    ],
)
async def test_a_problem_of_a_page_is_reported(site: str, open_page: OpenPage, name: str, problem: str) -> None:
    observer = await open_page(f"{site}/{name}")
    assert problem in observer.all_problems()
    observer.forgive()


async def test_a_task_that_blocks_the_page_is_measured(site: str, open_page: OpenPage) -> None:
    observer = await open_page(f"{site}/slow")
    durations: list[float] = []
    async with asyncio.timeout(60):
        while not any(duration >= 150 for duration in durations):  # shorter tasks of a slow machine come first
            durations += await observer.long_tasks()


async def test_text_without_contrast_is_a_violation(site: str, open_page: OpenPage) -> None:
    observer = await open_page(f"{site}/unreadable")
    try:
        found = await accessibility.violations(observer.page)
    except accessibility.NoAxeError as error:
        pytest.skip(str(error))
    assert "color-contrast" in {violation.rule for violation in found}
