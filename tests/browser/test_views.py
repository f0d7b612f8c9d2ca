"""Every view in light and dark, and on a phone: it draws, logs nothing, and keeps the rules of WCAG 2.2 AA."""

import os
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser import answers, census
from tests.browser.conftest import OpenView
from tests.support.browser import accessibility
from tests.support.browser.window import PHONE, BrowserScreen, Theme
from tests.support.made_up_cluster.content import BIG

pytestmark = pytest.mark.asyncio(loop_scope="session")
RUN = f"run/live/data/{census.NAME}"
VIEWS = {
    "runs": ("runs", census.NAME),
    "timeline": (f"{RUN}/timeline", "Critical path"),
    "graph": (f"{RUN}/graph", "warehouse_ready"),
    "grid": (f"run/live/data/{BIG}/grid", "602 instances"),
    "details": (f"{RUN}/details", "Conditions"),
    "schedules": ("schedules", "nightly-census"),
    "schedule": ("schedules/data/nightly-census", "The last 26 weeks"),
    "inbox": ("inbox", "Close the ledger of October?"),
    "triggerers": ("triggerers", "torpor-triggerer-0"),
    "cluster": ("cluster", "pod hours saved by waiting"),
}
"""The path of each view, and a text that it shows."""
PICTURES = Path(__file__).resolve().parents[2] / "docs/assets/page"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_is_drawn_and_accessible(view: str, theme: Theme, open_view: OpenView) -> None:
    path, text = VIEWS[view]
    window = await open_view(path, screen=BrowserScreen(theme=theme), answers=answers.LISTS)
    await window.seen(text)
    await window.page.wait_for_timeout(300)  # charts and canvases are drawn in the next frames
    if os.environ.get("TORPOR_SCREENSHOTS"):
        await window.page.screenshot(path=PICTURES / f"{view}-{theme}.png")
    try:
        assert await accessibility.violations(window.page) == []
    except accessibility.NoAxeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_is_not_wider_than_a_phone(view: str, open_view: OpenView) -> None:
    path, text = VIEWS[view]
    window = await open_view(path, screen=PHONE, answers=answers.LISTS)
    await window.page.get_by_text(text).first.wait_for(state="attached")
    assert await window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await window.page.evaluate(
        "[...document.querySelectorAll('.view, .run')].every((each) => each.scrollWidth <= each.clientWidth)"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_all_causes_are_shown_with_their_commands(theme: Theme, open_view: OpenView) -> None:
    window = await open_view(RUN, screen=BrowserScreen(theme=theme, width=1100))
    why = window.page.get_by_role("region", name="Why")
    await window.button("9 more causes").click()
    await expect(why).to_contain_text("validate/")
    await expect(why.get_by_role("button", name="Copy the command").nth(3)).to_be_visible()
    if os.environ.get("TORPOR_SCREENSHOTS"):
        await window.page.locator(".run-head").screenshot(path=PICTURES / f"why-{theme}.png")
