"""What a person on call asks, answered from the start page in two clicks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

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
TASK = {"name": "load", "python": "etl:load", "expand": [{"name": "row", "over": "${tasks.list.result}"}]}


@dataclass(kw_only=True)
class Person:
    """Somebody who clicks at most twice."""

    window: BrowserWindow
    clicks: int = 0

    async def click(self, target: Locator) -> None:
        self.clicks += 1
        assert self.clicks <= 2
        await target.click()

    async def sees(self, text: str) -> None:
        await expect(self.window.page.get_by_text(text).first).to_be_visible()


@pytest_asyncio.fixture(loop_scope="session")
async def person(open_view: OpenView) -> AsyncIterator[Person]:
    """A person at the start page."""
    yield Person(window=await open_view(""))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def invoices(cluster: MadeUpApi) -> Object:
    """A run that began just now: one of its instances has failed, another waits."""
    now = cluster.clock.now()
    tasks = [{"name": "load", "state": "Running", "total": 3, "created": 3, "failed": 1, "deferred": 1, "succeeded": 1}]
    status = {
        "state": "Running",
        "startTime": times.rfc3339(now - 900),
        "tasks": tasks,
        "conditions": runs.verdict("Running"),
    }
    spec = {
        "params": {"day": "2026-11-20"},
        "tasks": [{"name": "list", "python": "etl:list"}, TASK],
        "templateRef": {"name": "ingest"},
    }
    run = cluster.put_at(WORKFLOWS, runs.workflow("data", "invoices-now", spec, status), now + 5)
    for index, state in enumerate(("Succeeded", "Failed", "Deferred")):
        when = InstanceTimes(
            start=now - 900, pauses=(3.0, 40.0, 2400.0, 30.0) if state == "Deferred" else (3.0, 40.0, 600.0, 30.0)
        )
        made = cluster.server.put(TASKRUNS, runs.taskrun(run, "load", state, when, index))
        if state == "Failed":
            _add_pod(cluster, made)
    return run


def _add_pod(cluster: MadeUpApi, taskrun: Object) -> None:
    metadata = taskrun["metadata"]
    name = names.pod(metadata["name"], 1, 0, 0)
    labels = metadata["labels"] | {constants.LABEL_TASKRUN_UID: metadata["uid"]}
    ended = {"terminated": {"startedAt": "2026-11-22T10:00:00Z", "finishedAt": "2026-11-22T10:59:00Z"}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": ended}]}
    cluster.server.put(PODS, {"metadata": {"namespace": "data", "name": name, "labels": labels}, "status": status})
    cluster.logs[name] = ["2026-11-22T10:00:01Z reads 17 rows", "2026-11-22T10:00:02Z ValueError: row 17 has no date"]


async def test_which_task_holds_the_run_up_why_and_since_when(invoices: Object, person: Person) -> None:
    await person.click(person.window.page.get_by_role("link", name="invoices-now"))
    why = person.window.page.locator(".why")
    await expect(why.get_by_text("load/").first).to_be_visible()
    await expect(why.get_by_text("ago").first).to_be_visible()
    assert person.clicks == 1


@pytest_asyncio.fixture(loop_scope="session")
async def night(cluster: MadeUpApi) -> AsyncIterator[None]:
    """The archive has a run of last night at three, and one that had ended before."""
    berlin = datetime.now(ZoneInfo("Europe/Berlin"))
    three = berlin.replace(hour=3, minute=0, second=0, microsecond=0)
    three -= timedelta(days=int(three > berlin))
    before = list(cluster.archive.entries)
    _archive_run(cluster, "ran-at-three", three.timestamp() - 1800, three.timestamp() + 1800)
    _archive_run(cluster, "ended-at-two", three.timestamp() - 7200, three.timestamp() - 3600)
    cluster.archive.entries.sort(key=lambda entry: entry["completed"] or "", reverse=True)
    yield
    cluster.archive.entries[:] = before


def _archive_run(cluster: MadeUpApi, name: str, start: float, end: float) -> None:
    status: Object = {"state": "Succeeded", "startTime": times.rfc3339(start), "completionTime": times.rfc3339(end)}
    status |= {"conditions": runs.verdict("Succeeded")}
    metadata = {"uid": f"uid-{name}", "creationTimestamp": times.rfc3339(start)}
    cluster.archive.add(runs.workflow("data", name, {"tasks": [TASK]}, status, **metadata))


async def test_what_ran_at_three_in_the_morning(night: None, person: Person) -> None:
    await person.click(person.window.button("Any time"))
    await person.click(person.window.button("At 03:00"))
    await person.sees("ran-at-three")
    await expect(person.window.page.get_by_text("ended-at-two")).to_have_count(0)


async def test_which_waits_are_due_in_the_next_hour(invoices: Object, person: Person) -> None:
    await person.click(person.window.page.get_by_role("link", name="Triggerers"))
    await person.sees("due in the next hour")
    table = person.window.page.get_by_role("grid", name="Due in the next hour")
    await expect(table.get_by_role("link", name="load/").first).to_be_visible()


async def test_which_instance_failed_and_its_last_log_lines(invoices: Object, person: Person) -> None:
    await person.click(person.window.page.get_by_role("link", name="invoices-now"))
    await person.click(person.window.page.get_by_role("link", name="failed"))
    await person.sees("load/1")
    await person.sees("ValueError: row 17 has no date")


async def test_run_it_again_with_another_date(cluster: MadeUpApi, invoices: Object, person: Person) -> None:
    await person.click(person.window.page.get_by_role("link", name="invoices-now"))
    await person.click(person.window.button("Run with other params"))
    field = person.window.page.get_by_label("day")
    await field.fill("2026-11-21")
    await person.sees("torpor resubmit")
    await expect(person.window.button("Start the run")).not_to_have_attribute("aria-disabled", "true")
    await field.press("Enter")
    await person.sees("Open the new run")
    days = [item["spec"].get("params", {}).get("day") for item in cluster.server.all(WORKFLOWS)]
    assert days.count("2026-11-21") == 1


async def test_the_failed_instances_of_a_large_run_are_a_click_away(person: Person) -> None:
    await person.window.open(f"run/live/data/{BIG}")
    await person.click(person.window.page.get_by_role("link", name="failed"))
    rows = person.window.page.get_by_role("grid", name="Instances").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("Failed")
    assert all("Failed" in text for text in (await rows.all_inner_texts())[1:])
