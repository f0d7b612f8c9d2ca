"""Every view in light and dark, and on a phone: it draws, logs nothing, and keeps the rules of WCAG 2.2 AA."""

import os
from pathlib import Path

import pytest

from tests.browser import answers
from tests.browser.conftest import OpenView
from tests.support.browser import accessibility
from tests.support.browser.window import PHONE, BrowserScreen, Theme
from tests.support.made_up_cluster.content import BIG

pytestmark = pytest.mark.asyncio(loop_scope="session")
RUN = f"run/live/data/{BIG}"
VIEWS = {
    "runs": ("runs", "invoices-00001"),
    "timeline": (f"{RUN}/timeline", BIG),
    "graph": (f"{RUN}/graph", "report"),
    "grid": (f"{RUN}/grid", "602 instances"),
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
