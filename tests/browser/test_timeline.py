"""The timeline of a run, and the panel of a task: keys, the table beside the drawing, logs, and hostile text."""

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_wire import constants, names, times

from tests.browser.conftest import OpenView
from tests.support.browser.window import BrowserWindow
from tests.support.made_up_cluster import MadeUpApi, runs
from tests.support.made_up_cluster.content import BIG
from tests.support.made_up_cluster.runs import InstanceTimes

pytestmark = pytest.mark.asyncio(loop_scope="session")
Object = dict[str, Any]
RUN = f"run/live/data/{BIG}"
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HOSTILE = f"{MARKUP}safe\u202egnp.exe\u2066"


def drawing(window: BrowserWindow) -> Locator:
    return window.page.get_by_role("application", name="Timeline of the run")


async def test_keys_move_in_the_timeline_and_open_a_task(open_view: OpenView) -> None:
    window = await open_view(RUN)
    await drawing(window).focus()
    await drawing(window).press("Home")
    await drawing(window).press("Enter")
    await expect(window.page.get_by_role("complementary", name="Task arrive")).to_be_visible()
    assert "task=arrive" in window.page.url
    await window.page.keyboard.press("Escape")
    await expect(window.page.get_by_role("complementary")).to_have_count(0)


async def test_zoom_by_keys_ends_with_the_whole_run(open_view: OpenView) -> None:
    window = await open_view(RUN)
    fit = window.page.get_by_role("button", name="Show all")
    await expect(fit).to_have_attribute("aria-disabled", "true")
    await drawing(window).press("+")
    await expect(fit).not_to_have_attribute("aria-disabled", "true")
    await drawing(window).press("0")
    await expect(fit).to_have_attribute("aria-disabled", "true")


async def test_the_table_has_the_rows_of_the_timeline(open_view: OpenView) -> None:
    window = await open_view(RUN)
    await window.button("Table").click()
    table = window.page.get_by_role("grid", name="Timeline of the run")
    await expect(table.get_by_role("row").nth(1)).to_contain_text("arrive")
    await window.page.get_by_placeholder("Find a task or instance").fill("load/17")
    await expect(table.get_by_role("row").nth(1)).to_contain_text("load/17")


async def test_the_address_of_a_task_opens_it_in_its_group(open_view: OpenView) -> None:
    window = await open_view(f"{RUN}?task=load/400")
    await expect(window.page.get_by_role("complementary", name="Task load/400")).to_be_visible()
    await expect(window.button("Fold all")).to_be_visible()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile_run(cluster: MadeUpApi) -> str:
    """The path of a run whose instance has failed with hostile texts."""
    now = cluster.clock.now()
    tasks = [{"name": "load", "state": "Failed", "total": 1, "created": 1, "failed": 1}]
    status: Object = {
        "state": "Failed",
        "startTime": times.rfc3339(now - 60),
        "completionTime": times.rfc3339(now - 5),
        "tasks": tasks,
        "conditions": runs.verdict("Failed", HOSTILE),
    }
    spec = {"params": {MARKUP: HOSTILE}, "tasks": [{"name": "load", "python": "etl:load"}]}
    run = cluster.put_at(WORKFLOWS, runs.workflow("data", "hostile-run", spec, status), now - 60)
    more: Object = {
        "message": HOSTILE,
        "displayName": HOSTILE,
        "result": f'["{MARKUP.replace(chr(34), chr(92) + chr(34))}"]',
    }
    when = InstanceTimes(start=now - 60, pauses=(1.0, 10.0, 10.0, 10.0))
    made = cluster.server.put(TASKRUNS, runs.taskrun(run, "load", "Failed", when, **more))
    metadata = made["metadata"]
    pod = names.pod(metadata["name"], 1, 0, 0)
    labels = metadata["labels"] | {constants.LABEL_TASKRUN_UID: metadata["uid"]}
    ended = {"terminated": {"startedAt": "2026-11-22T10:00:00Z", "finishedAt": "2026-11-22T10:59:00Z"}}
    pod_status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": ended}]}
    cluster.server.put(PODS, {"metadata": {"namespace": "data", "name": pod, "labels": labels}, "status": pod_status})
    cluster.logs[pod] = [f"2026-11-22T10:00:01Z {HOSTILE}", "2026-11-22T10:00:02Z \x1b[31mred\x1b[0m and plain"]
    return "run/live/data/hostile-run"


@pytest.mark.attack
@pytest.mark.parametrize("part", ["overview", "logs", "result", "events", "yaml"])
async def test_hostile_text_of_a_task_stays_text_in_its_panel(part: str, hostile_run: str, open_view: OpenView) -> None:
    window = await open_view(f"{hostile_run}?task=load&part={part}")
    panel = window.page.get_by_role("complementary")
    await expect(panel.get_by_text("<img src=x").first).to_be_attached()
    assert await window.page.locator("img[src='x'], main script").count() == 0
    assert "owned" not in await window.page.title()
    assert "\u202e" not in await window.page.inner_text("body")


@pytest.mark.attack
@pytest.mark.parametrize("path", ["runs", "", "/details"])
async def test_hostile_text_of_a_run_stays_text(path: str, hostile_run: str, open_view: OpenView) -> None:
    window = await open_view(path if path == "runs" else f"{hostile_run}{path}")
    await expect(window.page.locator("main").get_by_text("<img src=x").first).to_be_attached()
    assert await window.page.locator("img[src='x'], main script").count() == 0
    assert "owned" not in await window.page.title()
    assert "\u202e" not in await window.page.inner_text("body")


async def test_log_lines_are_searched_and_shown_whole(hostile_run: str, open_view: OpenView) -> None:
    window = await open_view(f"{hostile_run}?task=load&part=logs")
    log = window.page.get_by_role("log")
    await expect(log).to_contain_text("red and plain")
    await window.page.get_by_placeholder("Search the lines").fill("PLAIN")
    await expect(log.locator(".log-line")).to_have_count(1)
    await expect(log.locator("mark")).to_have_text("plain")
    await log.locator(".log-line").click()
    await expect(window.page.get_by_role("region", name="Whole line")).to_contain_text("red and plain")
