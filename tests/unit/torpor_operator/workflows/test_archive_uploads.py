"""Uploads beside the reconcile loop: once, a few at a time, with back-off, and namespaces take turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from torpor_crds.models import workflow as workflows
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_operator.controller import run_events
from torpor_operator.controller.archive import NotArchivedError, SupersededError
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.snapshot import RunArchived, RunNotArchived
from torpor_operator.workflows.archive_uploads import ArchiveUploads

from tests.support.fake_api import settle
from tests.unit.torpor_operator.controller.finished_runs import ENDED, NAMESPACE, FinishedRuns


class UploadFixture:
    """Uploads whose archive is a test."""

    def __init__(self) -> None:
        self.harness = FinishedRuns()
        self.calls: list[str] = []
        self.enqueued: list[Key] = []
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.active = 0
        self.most = 0
        self.uploads = ArchiveUploads(
            self._store, self.harness.clock, enqueue=self.enqueued.append, grace=30.0, jitter=lambda: 1.0
        )

    async def _store(self, namespace: str, name: str, uid: str, completed: str, since: float) -> None:
        self.calls.append(name)
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            await self.gate.wait()
        finally:
            self.active -= 1
        if self.failure is not None:
            raise self.failure

    @asynccontextmanager
    async def running(self) -> AsyncIterator["UploadFixture"]:
        task = asyncio.create_task(self.uploads.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_an_upload_runs_once_and_its_workflow_is_reconciled_after_it() -> None:
    async with UploadFixture().running() as world:
        run = world.harness.run("run")
        for _ in range(3):
            world.uploads.request(run)
        assert world.uploads.outcome(run) is None
        await settle()
        assert world.calls == ["run"]
        assert world.enqueued == [Key(NAMESPACE, "run")]
        assert world.uploads.outcome(run) == RunArchived()


async def test_the_outcome_is_dropped_when_the_status_has_it() -> None:
    async with UploadFixture().running() as world:
        run = world.harness.run("run")
        world.uploads.request(run)
        await settle()
        condition = {"type": "Archived", "status": "True", "reason": "Archived", "lastTransitionTime": ENDED}
        body = world.harness.server.edit(WORKFLOWS, NAMESPACE, "run", {"status": {"conditions": [condition]}})
        assert world.uploads.outcome(workflows.parse(body)) is None
        assert world.uploads.outcome(run) is None


async def test_the_outcome_of_an_earlier_end_does_not_count() -> None:
    async with UploadFixture().running() as world:
        world.uploads.request(world.harness.run("run"))
        await settle()
        again = world.harness.server.edit(WORKFLOWS, NAMESPACE, "run", {"status": {"clears": 1}})
        assert world.uploads.outcome(workflows.parse(again)) is None


async def test_a_failed_upload_waits_twice_as_long_each_time() -> None:
    async with UploadFixture().running() as world:
        run = world.harness.run("run")
        world.failure = NotArchivedError("503")
        pauses: list[float] = []
        for _ in range(6):
            world.uploads.request(run)
            await settle()
            outcome = world.uploads.outcome(run)
            assert isinstance(outcome, RunNotArchived)
            assert outcome.message == "503"
            pauses.append(outcome.retry_at - world.harness.clock.now())
        assert pauses == [30, 60, 120, 240, 480, 480]


async def test_a_run_that_is_gone_has_no_outcome() -> None:
    async with UploadFixture().running() as world:
        run = world.harness.run("run")
        world.failure = SupersededError("gone")
        world.uploads.request(run)
        await settle()
        assert world.uploads.outcome(run) is None


async def test_a_bug_of_one_upload_does_not_stop_the_others() -> None:
    async with UploadFixture().running() as world:
        world.failure = RuntimeError("bug")
        world.uploads.request(world.harness.run("run"))
        await settle()
        world.failure = None
        other = world.harness.run("other")
        world.uploads.request(other)
        await settle()
        assert world.uploads.outcome(other) == RunArchived()


async def test_five_thousand_runs_are_uploaded_few_at_a_time_by_namespace_turns() -> None:
    async with UploadFixture().running() as world:
        world.gate.clear()
        template = world.harness.run("first")
        for number in range(5000):
            metadata = template.metadata.model_copy(update={"name": f"run-{number}", "uid": str(number)})
            world.uploads.request(template.model_copy(update={"metadata": metadata}))
        world.uploads.request(world.harness.run("urgent", namespace="other"))
        await settle()
        assert world.active == 3  # two of the busy namespace, one of the other
        assert "urgent" in world.calls
        world.gate.set()
        for _ in range(100):
            await settle()
        assert world.most <= 4


async def test_runs_that_end_together_share_a_list_of_events() -> None:
    async with FinishedRuns().discovered() as harness:
        uploads = ArchiveUploads(
            harness.archive.store_run,
            harness.clock,
            enqueue=lambda _: None,
            grace=30.0,
            not_before=harness.archive.events.next_list_at,
        )
        task = asyncio.create_task(uploads.run())
        first, *others = [harness.run(f"run-{number}", taskruns=0) for number in range(20)]
        uploads.request(first)
        await settle()
        assert len(harness.store.runs) == 1
        for run in others:
            harness.event(run.metadata.uid)
            uploads.request(run)
        await settle()
        assert len(harness.store.runs) == 1
        await harness.clock.advance(run_events.INTERVAL)
        assert len(harness.store.runs) == 20
        assert all(len(lines) == 2 for path, lines in harness.store.runs.items() if first.metadata.uid not in path)
        assert harness.requests("/events") == 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_events_are_freed_once_a_namespace_has_no_uploads() -> None:
    async with FinishedRuns().discovered() as harness:
        idle: list[int] = []

        def drop(namespace: str) -> None:
            idle.append(len(harness.store.runs))
            harness.archive.events.drop(namespace)

        uploads = ArchiveUploads(
            harness.archive.store_run, harness.clock, enqueue=lambda _: None, grace=30.0, on_idle=drop
        )
        task = asyncio.create_task(uploads.run())
        for number in range(6):
            run = harness.run(f"run-{number}", taskruns=0)
            harness.event(run.metadata.uid)
            uploads.request(run)
        await settle()
        assert idle == [6]
        assert all(len(lines) == 2 for lines in harness.store.runs.values())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
