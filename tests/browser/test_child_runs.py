"""The run that a task has started is a link in the panel of the task."""

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import times

from tests.browser.conftest import OpenView
from tests.support.made_up_cluster import MadeUpApi, runs
from tests.support.made_up_cluster.runs import InstanceTimes

pytestmark = pytest.mark.asyncio(loop_scope="session")
Object = dict[str, Any]
OUTER, INNER = "outer-run", "inner-run"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def outer_run(cluster: MadeUpApi) -> str:
    """The path of a run whose only task waits for another run."""
    start = cluster.clock.now() - 60

    def put(name: str, task: Object) -> Object:
        tasks = [{"name": task["name"], "state": "Running", "total": 1, "created": 1, "active": 1}]
        status = {"state": "Running", "startTime": times.rfc3339(start), "tasks": tasks}
        status |= {"conditions": runs.verdict("Running")}
        return cluster.put_at(WORKFLOWS, runs.workflow("data", name, {"tasks": [task]}, status), start)

    outer = put(OUTER, {"name": "load", "run": {"templateRef": {"name": "load"}}})
    put(INNER, {"name": "fetch", "python": "etl:fetch"})
    when = InstanceTimes(start=start, pauses=(1.0, 2.0, 5400.0, 5.0))
    body = runs.taskrun(outer, "load", "Deferred", when, spec={"python": None, "run": {"template": "load"}})
    body["status"]["trigger"] |= {"class": "workflow", "kwargs": f'{{"name":"{INNER}"}}'}
    cluster.put_at(TASKRUNS, body, start)
    return f"run/live/data/{OUTER}"


async def test_the_run_of_a_task_is_opened_from_its_panel(outer_run: str, open_view: OpenView) -> None:
    window = await open_view(f"{outer_run}?task=load")
    panel = window.page.get_by_role("complementary", name="Task load")
    await panel.get_by_role("link", name=INNER, exact=True).click()
    await expect(window.page.get_by_role("heading", name=INNER)).to_be_visible()
    assert f"run/live/data/{INNER}" in window.page.url
    assert "task=" not in window.page.url
