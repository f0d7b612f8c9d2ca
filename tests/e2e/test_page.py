"""The page on a real cluster: logs of pods and waits, results, an approval, a retry, and a run again."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.endpoint import find_cluster
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import container, spec
from tests.e2e.support.stage import ClusterFixture
from tests.support.page_server.browser import Browser, EventReader, opened_page

_ASK = {"name": "ask", "trigger": {"class": "approval", "kwargs": {"question": "Deploy 1.4?"}, "timeout": "10m"}}
_DONE = {"name": "done", "python": "e2e_tasks:echo", "args": {"value": "${tasks.ask.result}"}}


@pytest_asyncio.fixture(loop_scope="session")
async def page(stage: ClusterFixture, kubectl: Kubectl) -> AsyncIterator[Browser]:
    cluster = await find_cluster(str(kubectl.kubeconfig))
    async with opened_page(cluster, namespaces=(stage.namespace,)) as browser:
        yield browser


async def act(page: Browser, name: str, **body: Any) -> Any:
    async with page.session.post(f"{page.origin}/api/acts/{name}", json=body, headers=page.headers()) as response:
        return await response.json()


async def log_texts(events: EventReader) -> list[str]:
    """The lines up to the end of the stream."""
    texts: list[str] = []
    while True:
        name, data = await events.next()
        if name == "end":
            return texts
        assert name == "lines", data
        texts += [line["text"] for line in data if line["stream"] != "note"]


async def test_a_log_is_followed_from_the_first_line_to_the_last(stage: ClusterFixture, page: Browser) -> None:
    await stage.start("w", spec(container("box", "for n in 1 2 3 4 5 6; do echo line $n; sleep 1; done")))
    await stage.reached("w", "box", State.RUNNING)
    async with page.stream(f"api/run/live/{stage.namespace}/w/task/box/logs?follow=1") as events:
        assert await log_texts(events) == [f"line {number}" for number in range(1, 7)]
    await stage.ended("w")
    detail = await page.get(f"api/run/live/{stage.namespace}/w/task/box")
    [segment] = detail["attempts"][0]["segments"]
    assert (detail["state"], bool(segment["pod"]), bool(segment["node"])) == ("Succeeded", True, True)
    assert any(event["pod"] for event in detail["podEvents"])


async def test_an_approval_in_the_page_ends_the_wait_and_its_result_is_shown(
    stage: ClusterFixture, page: Browser
) -> None:
    await stage.start("w", spec(_ASK, _DONE))
    await stage.reached("w", "ask", State.DEFERRED)
    [asked] = await page.get(f"api/approvals?ns={stage.namespace}")
    assert (asked["question"], asked["mayAnswer"]) == ("Deploy 1.4?", True)
    outcome = await act(page, "approve", runs=[asked["run"]], tasks=[asked["key"]], note="seen")
    assert outcome["failed"] == []
    await stage.ended("w")
    path = f"{page.origin}/api/run/live/{stage.namespace}/w/task/done/result?show=1"
    async with page.session.get(path) as response:
        result = await response.json()
    assert (result["approved"], result["note"]) == (True, "seen")


async def test_what_failed_runs_again_and_a_finished_run_runs_anew(stage: ClusterFixture, page: Browser) -> None:
    key = f"live/{stage.namespace}/w"
    await stage.start("w", {**spec(container("box", "exit 3")), "params": {"day": "2026-11-20"}})
    await stage.ended("w")
    preview = await act(page, "retry/preview", runs=[key])
    assert preview["effects"] == ["box (1 TaskRun)"]
    assert (await act(page, "retry", runs=[key]))["done"] == ["w runs these tasks again"]
    await stage.ended("w")
    detail = await page.get(f"api/run/{key}/task/box")
    assert (detail["state"], detail["clears"]) == ("Failed", 1)
    created = (await act(page, "resubmit", runs=[key], params={"day": "2026-11-21"}))["created"]
    again = await stage.ended(created.rpartition("/")[2])
    assert again.spec.params == {"day": "2026-11-21"}
