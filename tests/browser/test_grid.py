"""The grid of a run: filters in the address, selection by mouse and keys, and acts on what is selected."""

import pytest
from playwright.async_api import Locator, expect

from tests.browser import answers
from tests.browser.conftest import OpenView
from tests.support.browser.window import BrowserWindow
from tests.support.made_up_cluster.content import BIG

pytestmark = pytest.mark.asyncio(loop_scope="session")
GRID = f"run/live/data/{BIG}/grid"


def rows(window: BrowserWindow) -> Locator:
    return window.page.get_by_role("grid", name="Instances").get_by_role("row")


async def test_filters_are_in_the_address_and_come_back_from_it(open_view: OpenView) -> None:
    window = await open_view(GRID)
    await window.page.get_by_role("group", name="States").get_by_role("button", name="Failed").click()
    await window.page.get_by_placeholder("Find in names").fill("row 17")
    await expect(rows(window).nth(1)).to_contain_text("ValueError: row 17 has no date")
    assert "state=Failed" in window.page.url
    await window.page.reload()
    await expect(window.page.get_by_placeholder("Find in names")).to_have_value("row 17")
    await expect(rows(window).nth(1)).to_contain_text("Failed")


async def test_only_the_rows_in_sight_are_elements(open_view: OpenView) -> None:
    window = await open_view(GRID)
    await window.seen("602 instances")
    assert await rows(window).count() < 80
    await window.page.get_by_role("grid", name="Instances").evaluate("(grid) => grid.scrollTo(0, grid.scrollHeight)")
    await expect(rows(window).last).to_contain_text("load")


async def test_the_head_is_above_its_columns_beside_an_open_instance(open_view: OpenView) -> None:
    window = await open_view(f"{GRID}?task=load/3")
    await expect(window.page.get_by_role("complementary")).to_be_visible()
    await expect(rows(window).nth(1)).to_contain_text("Succeeded")
    tracks = "(row) => getComputedStyle(row).gridTemplateColumns"
    assert await rows(window).nth(0).evaluate(tracks) == await rows(window).nth(1).evaluate(tracks)


async def test_a_filter_without_a_hit_says_how_to_see_more(open_view: OpenView) -> None:
    window = await open_view(f"{GRID}?text=nothing-has-this")
    await window.seen("No instance fits.")
    await window.button("Show all").click()
    await window.seen("602 instances")


async def test_a_range_is_selected_with_shift_and_retried_at_once(open_view: OpenView) -> None:
    replaced = {"acts/retry/preview": answers.PREVIEW, "acts/retry": {"done": ["5 instances run again."], "failed": []}}
    window = await open_view(f"{GRID}?state=Failed", answers=replaced)
    boxes = window.page.get_by_role("checkbox")
    await boxes.nth(0).click()
    await boxes.nth(4).click(modifiers=["Shift"])
    await window.button("Retry 5").click()
    await window.seen("load[3] runs again.")
    await window.button("Run again").click()
    await window.seen("5 instances run again.")
    path, body = window.sent[-1]
    assert (path, len(body["tasks"]), body["runs"]) == ("acts/retry", 5, [f"live/data/{BIG}"])


async def test_keys_move_select_and_open(open_view: OpenView) -> None:
    window = await open_view(GRID)
    table = window.page.get_by_role("grid", name="Instances")
    await table.focus()
    await table.press("ArrowDown")
    await table.press(" ")
    await window.seen("1 selected")
    await table.press("Enter")
    await expect(window.page.get_by_role("complementary")).to_be_visible()
    assert "task=" in window.page.url
