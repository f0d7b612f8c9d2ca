"""The list of runs: filters in the address, saved filters, and rows of live and archived runs."""

import pytest
from playwright.async_api import Locator, expect

from tests.browser.conftest import OpenView
from tests.support.browser.window import BrowserWindow

pytestmark = pytest.mark.asyncio(loop_scope="session")


def rows(window: BrowserWindow) -> Locator:
    return window.page.get_by_role("grid", name="Runs").get_by_role("row")


async def test_filters_of_runs_are_in_the_address_and_come_back(open_view: OpenView) -> None:
    window = await open_view("runs")
    await window.page.get_by_role("group", name="States").get_by_role("button", name="Failed").click()
    await expect(rows(window).nth(1)).to_contain_text("Failed")
    await window.page.get_by_placeholder("Search names").fill("prices")
    await expect(rows(window).nth(1)).to_contain_text("prices")
    assert "state=Failed" in window.page.url
    assert "text=prices" in window.page.url
    await window.page.reload()
    await expect(window.page.get_by_placeholder("Search names")).to_have_value("prices")
    await expect(rows(window).nth(1)).to_contain_text("prices")


async def test_archived_runs_are_a_button_away(open_view: OpenView) -> None:
    window = await open_view("runs")
    await window.button("Archived").click()
    await expect(rows(window).nth(1)).to_contain_text("-old-")


async def test_a_filter_is_saved_and_used_again(open_view: OpenView) -> None:
    window = await open_view("runs?state=Failed&text=prices")
    await window.button("Saved filters").click()
    await window.page.get_by_placeholder("Name", exact=True).fill("My prices")
    await window.button("Save these filters").click()
    await window.page.goto(f"{window.origin}/runs")
    await window.button("Saved filters").click()
    await window.button("My prices").click()
    await expect(rows(window).nth(1)).to_contain_text("prices")
    assert "state=Failed" in window.page.url


async def test_a_filter_without_a_run_is_cleared_by_a_button(open_view: OpenView) -> None:
    window = await open_view("runs?text=no-run-is-called-so")
    await window.seen("No run matches the filters")
    await window.page.locator(".empty").get_by_role("button", name="Clear the filters").click()
    await expect(rows(window).nth(1)).to_be_visible()


async def test_a_column_sorts_and_a_key_opens_a_run(open_view: OpenView) -> None:
    window = await open_view("runs")
    await window.page.get_by_role("columnheader", name="Run", exact=True).get_by_role("button").click()
    await expect(rows(window).nth(1)).to_contain_text("big-load")
    table = window.page.get_by_role("grid", name="Runs")
    await table.focus()
    await table.press("Home")
    await table.press("Enter")
    await expect(window.page.get_by_role("heading", name="big-load")).to_be_visible()


async def test_the_palette_finds_views_and_runs(open_view: OpenView) -> None:
    window = await open_view("runs")
    await expect(rows(window).nth(1)).to_be_visible()
    await window.page.keyboard.press("Control+k")
    await window.page.keyboard.type("big-load")
    await expect(window.page.get_by_role("option", name="data/big-load")).to_be_visible()
    await window.page.keyboard.press("Enter")
    await expect(window.page.get_by_role("heading", name="big-load")).to_be_visible()


PRESS_AND_READ_FOCUS = """async () => {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return document.activeElement.getAttribute("role");
}"""


async def test_the_palette_has_the_focus_before_the_next_key(open_view: OpenView) -> None:
    window = await open_view("runs")
    await expect(rows(window).nth(1)).to_be_visible()
    assert await window.page.evaluate(PRESS_AND_READ_FOCUS) == "combobox"


async def test_the_chosen_theme_outlives_a_reload(open_view: OpenView) -> None:
    window = await open_view("runs")
    await expect(rows(window).nth(1)).to_be_visible()
    await window.page.keyboard.press("t")
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")
    await window.page.reload()
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")
