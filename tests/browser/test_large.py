"""10,000 runs, and a run of 10,000 instances: which one failed, and its last log lines."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import OpenView
from tests.support.browser.page import ServedPage, serve_page
from tests.support.made_up_cluster import MadeUpApi, serve
from tests.support.made_up_cluster.content import BIG, NAMESPACES, Size, fill
from tests.support.page_server.browser import endpoint

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]
SIZE = Size(runs=10_000, instances=10_000, taskruns=100, archived=100)
PATIENCE = 180_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def large() -> AsyncIterator[ServedPage]:
    """The page in front of a large cluster."""
    async with serve(MadeUpApi()) as api:
        fill(api, SIZE)
        async with serve_page(endpoint(api, "admin-token"), namespaces=NAMESPACES) as page:
            yield page


async def test_the_failed_one_of_ten_thousand_instances_is_found(large: ServedPage, open_view: OpenView) -> None:
    window = await open_view(f"run/live/data/{BIG}/grid", of=large)
    await window.page.get_by_text("10,002 instances").wait_for(timeout=PATIENCE)
    assert await window.page.get_by_role("row").count() < 80
    await window.page.get_by_role("link", name="failed").click()
    rows = window.page.get_by_role("grid", name="Instances").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("Failed", timeout=PATIENCE)
    await expect(window.page.get_by_role("complementary")).to_contain_text("Logs", timeout=PATIENCE)
    await window.page.close()


async def test_ten_thousand_rows_of_a_timeline_are_drawn(large: ServedPage, open_view: OpenView) -> None:
    window = await open_view(f"run/live/data/{BIG}/timeline", of=large)
    await window.page.get_by_role("button", name="Unfold all").click(timeout=PATIENCE)
    await window.page.get_by_text("10,003 rows").wait_for(timeout=PATIENCE)
    await window.page.close()


async def test_ten_thousand_runs_are_one_list(large: ServedPage, open_view: OpenView) -> None:
    window = await open_view("runs", of=large)
    await window.page.get_by_role("grid").get_by_role("row").nth(1).wait_for(timeout=PATIENCE)
    assert await window.page.get_by_role("row").count() < 80
    await window.page.close()
