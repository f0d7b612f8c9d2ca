"""A run is read page by page and uploaded with its Events."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_operator.controller import run_events
from torpor_operator.controller.archive import SupersededError

from tests.support.fake_api import Fault
from tests.unit.torpor_operator.controller.finished_runs import ENDED, NAMESPACE, FinishedRuns


async def test_a_run_is_uploaded_with_all_taskruns_and_the_events_of_both() -> None:
    async with FinishedRuns().discovered() as harness:
        run, other = harness.run("run", taskruns=250), harness.run("other")
        taskrun = next(body for body in harness.server.all(TASKRUNS) if body["metadata"]["name"] == "run-7")
        harness.event(taskrun["metadata"]["uid"], 2)
        harness.event(run.metadata.uid, 1)
        harness.event(other.metadata.uid, 3)
        lines = await harness.upload(run)
        assert lines[0]["metadata"]["uid"] == run.metadata.uid
        assert Counter(line.get("kind") for line in lines[1:]) == {"TaskRun": 250, "Event": 2}
        assert [line["note"] for line in lines[-2:]] == ["1", "2"]
        assert harness.requests("/taskruns") == 3  # pages of 100


async def test_taskruns_are_read_as_the_archive_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 10,000 TaskRuns must not be in memory as a whole."""
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run", taskruns=1000)
        pages: list[int] = []

        async def put(_endpoint: object, _path: str, lines: AsyncIterator[bytes]) -> None:
            pages.extend([harness.requests("/taskruns") async for _ in lines])

        monkeypatch.setattr(harness.store, "put", put)
        metadata = run.metadata
        await harness.archive.store_run(metadata.namespace, metadata.name, metadata.uid, ENDED, harness.clock.now())
        assert (pages[0], pages[100], pages[101], pages[550], pages[1000]) == (0, 1, 2, 6, 10)


async def test_the_newest_events_of_a_run_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_events, "EVENTS_OF_RUN", 2)
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run", taskruns=0)
        for number in range(5):
            harness.event(run.metadata.uid, number)
        assert [line["note"] for line in (await harness.upload(run))[1:]] == ["3", "4"]


async def test_a_run_is_archived_without_events_that_may_not_be_listed() -> None:
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run")
        harness.server.inject(Fault(status=403, reason="Forbidden", path="/events", times=9))
        assert len(await harness.upload(run)) == 2


async def test_a_failing_list_fails_the_upload() -> None:
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run")
        harness.server.inject(Fault(status=410, reason="Expired", path="/taskruns", times=9))
        with pytest.raises(errors.ApiError):
            await harness.upload(run)


@pytest.mark.parametrize("change", [{"status": {"completionTime": None}}, None])
async def test_a_run_that_was_cleared_or_deleted_meanwhile_is_not_uploaded(change: dict[str, Any] | None) -> None:
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run")
        if change is None:
            harness.server.remove(WORKFLOWS, NAMESPACE, "run")
        else:
            harness.server.edit(WORKFLOWS, NAMESPACE, "run", change)
        with pytest.raises(SupersededError):
            await harness.upload(run)
        assert harness.store.runs == {}


async def test_the_archive_has_a_run_only_with_the_same_completion() -> None:
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run")
        uid = run.metadata.uid
        assert not await harness.archive.has_run(NAMESPACE, uid, ENDED)
        await harness.upload(run)
        assert await harness.archive.has_run(NAMESPACE, uid, ENDED)
        assert not await harness.archive.has_run(NAMESPACE, uid, "2026-01-02T00:00:00Z")


async def test_events_that_were_freed_are_listed_again() -> None:
    async with FinishedRuns().discovered() as harness:
        run = harness.run("run", taskruns=0)
        harness.event(run.metadata.uid)
        events, since = harness.archive.events, harness.clock.now() - 1
        before = await events.about(NAMESPACE, [run.metadata.uid], since)
        next_list = events.next_list_at(NAMESPACE)
        size = _lines_in_memory(events)
        events.drop(NAMESPACE)
        assert (size, _lines_in_memory(events), events.next_list_at(NAMESPACE)) == (1, 0, next_list)
        assert await events.about(NAMESPACE, [run.metadata.uid], since) == before
        assert harness.requests("/events") == 2


def _lines_in_memory(events: run_events.RunEvents) -> int:
    """The lines that the listings refer to."""
    return sum(len(lines) for listing in events._listings.values() for lines in (listing.lines or {}).values())
