"""The graph of a run: folding, keys, zoom, and before a run begins."""

import re

import pytest
from playwright.async_api import Locator, expect
from torpor_kubernetes.client.resources import WORKFLOWS

from tests.browser import answers
from tests.browser.conftest import OpenView
from tests.support.browser.window import BrowserWindow
from tests.support.made_up_cluster import MadeUpApi, runs
from tests.support.made_up_cluster.content import BIG

pytestmark = pytest.mark.asyncio(loop_scope="session")
GROUPED = {
    "groups": [{"name": "outer"}, {"name": "inner", "in": "outer"}],
    "tasks": [
        {"name": "begin", "python": "m:f"},
        {"name": "near", "python": "m:f", "group": "outer", "after": ["begin"]},
        {"name": "deep", "python": "m:f", "group": "inner", "after": ["near"]},
        {"name": "finish", "python": "m:f", "after": ["outer"]},
    ],
}


def box(window: BrowserWindow, name: str) -> Locator:
    return window.page.locator(f'[id="box-{name}"]')


async def open_graph(cluster: MadeUpApi, open_view: OpenView, name: str, spec: dict[str, object]) -> BrowserWindow:
    cluster.server.put(WORKFLOWS, runs.workflow("data", name, spec, {}))
    window = await open_view(f"run/live/data/{name}/graph")
    await box(window, "task:finish").wait_for()
    return window


async def test_a_group_folds_into_one_box_and_opens_again(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_graph(cluster, open_view, "graph-folds", GROUPED)
    await expect(box(window, "task:deep")).to_be_visible()
    await window.page.get_by_title("Fold group outer").click()
    await expect(box(window, "task:deep")).to_have_count(0)
    await expect(box(window, "group:outer")).to_contain_text("2 tasks")
    await box(window, "group:outer").click()
    await expect(box(window, "task:deep")).to_be_visible()


async def test_arrow_keys_follow_the_edges_and_enter_folds(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_graph(cluster, open_view, "graph-keys", GROUPED)
    canvas = window.page.get_by_role("application")
    await canvas.focus()
    await expect(canvas).to_have_attribute("aria-activedescendant", "box-task:begin")
    await canvas.press("ArrowRight")
    await expect(canvas).to_have_attribute("aria-activedescendant", "box-task:near")
    await canvas.press("ArrowRight")
    await expect(canvas).to_have_attribute("aria-activedescendant", "box-task:deep")
    await canvas.press("ArrowLeft")
    await expect(canvas).to_have_attribute("aria-activedescendant", "box-task:near")


async def test_a_graph_is_shown_before_the_run_has_begun(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_graph(cluster, open_view, "graph-before", GROUPED)
    await expect(box(window, "task:begin")).to_contain_text("begin")
    assert await window.page.locator(".edge").count() == 4


async def test_a_change_of_the_run_changes_its_box(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_graph(cluster, open_view, "graph-live", GROUPED)
    tasks = [{"name": "begin", "state": "Failed", "total": 1, "created": 1, "failed": 1}]
    cluster.server.edit(WORKFLOWS, "data", "graph-live", {"status": {"state": "Running", "tasks": tasks}})
    await expect(box(window, "task:begin")).to_contain_text("Failed")


async def test_a_mapped_task_is_one_box_that_opens_what_failed(open_view: OpenView) -> None:
    window = await open_view(f"run/live/data/{BIG}/graph")
    await expect(box(window, "task:load")).to_contain_text("/600")
    await expect(box(window, "task:load").get_by_text("load", exact=True)).to_be_in_viewport(ratio=1)
    await expect(box(window, "task:load")).to_have_attribute("title", re.compile("^load: .*/600, .* failed"))
    await box(window, "task:load").click()
    await expect(window.page.get_by_role("complementary")).to_contain_text("Failed")


async def test_a_task_is_run_again_from_the_graph(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_view(f"run/live/data/{BIG}/graph", answers={"acts/clear/preview": answers.PREVIEW})
    await box(window, "task:load").wait_for()
    await window.page.get_by_role("application").press("End")
    await window.button("Run report again").wait_for()
    await window.page.keyboard.press("c")
    await expect(window.page.get_by_role("dialog")).to_contain_text("report runs again")
    assert window.sent[-1] == ("acts/clear/preview", {"runs": [f"live/data/{BIG}"], "tasks": ["report"]})


async def test_the_wheel_zooms_and_a_key_shows_all_again(cluster: MadeUpApi, open_view: OpenView) -> None:
    window = await open_graph(cluster, open_view, "graph-zoom", GROUPED)
    drawing = window.page.locator(".graph-drawing")
    before = await drawing.get_attribute("style")
    await window.page.get_by_role("application").hover()
    await window.page.mouse.wheel(0, -600)
    await expect(drawing).not_to_have_attribute("style", before or "")
    await window.page.keyboard.press("0")
    await expect(drawing).to_have_attribute("style", before or "")
