"""An API server with finished runs, and an archive in memory that the operator's client has discovered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from torpor_crds.models import workflow as workflows
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS, TASKRUNS, WORKFLOWS
from torpor_operator.controller.archive import Archive
from torpor_wire import constants

from tests.support.fake_api import FakeApi, VirtualClock

NAMESPACE = "team"
ENDED = "2026-01-01T01:00:00Z"


class MemoryRunStore:
    """Keeps runs in memory."""

    def __init__(self) -> None:
        self.runs: dict[str, list[dict[str, Any]]] = {}

    async def put(self, endpoint: ArchiveEndpoint, path: str, lines: AsyncIterator[bytes]) -> None:
        self.runs[path] = [json.loads(line) async for line in lines]

    async def completed(self, endpoint: ArchiveEndpoint, path: str) -> str | None:
        run = self.runs.get(path)
        return None if run is None else str(run[0]["status"]["completionTime"])


class FinishedRuns:
    """An API server with runs, and an archive that has been discovered."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeApi(self.clock)
        self.api = Api(self.server, self.clock)
        self.store = MemoryRunStore()
        self.archive = Archive(self.api, "torpor-system", self.store)
        metadata = {"name": constants.ARCHIVE_CONFIG, "namespace": "torpor-system"}
        self.server.put(CONFIG_MAPS, {"metadata": metadata, "data": {"url": "https://archive", "ca.crt": "PEM"}})

    @asynccontextmanager
    async def discovered(self) -> AsyncIterator["FinishedRuns"]:
        task = asyncio.create_task(self.archive.run())
        await self.archive.discovered()
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def run(self, name: str, taskruns: int = 1, namespace: str = NAMESPACE, clears: int = 0) -> Workflow:
        """A finished run."""
        metadata = {"name": name, "namespace": namespace}
        status = {"state": "Succeeded", "completionTime": ENDED, "clears": clears}
        spec = {"tasks": [{"name": "a", "python": "a:b", "image": "i"}]}
        body = self.server.put(WORKFLOWS, {"metadata": metadata, "spec": spec, "status": status})
        for number in range(taskruns):
            labels = {constants.LABEL_WORKFLOW: name}
            self.server.put(
                TASKRUNS,
                {
                    "kind": "TaskRun",
                    "metadata": {"name": f"{name}-{number}", "namespace": namespace, "labels": labels},
                    "spec": {"workflow": {"name": name, "uid": body["metadata"]["uid"]}, "task": "a"},
                    "status": {"state": "Succeeded"},
                },
            )
        return workflows.parse(body)

    def event(self, uid: str, number: int = 0, namespace: str = NAMESPACE) -> None:
        regarding = {"uid": uid, "namespace": namespace, "apiVersion": constants.API_VERSION}
        moment = f"2026-01-01T00:00:{number:02d}Z"
        metadata = {"name": f"{uid}.{number}", "namespace": namespace}
        self.server.put(
            EVENTS, {"metadata": metadata, "regarding": regarding, "eventTime": moment, "note": str(number)}
        )

    async def upload(self, workflow: Workflow) -> list[dict[str, Any]]:
        metadata = workflow.metadata
        await self.archive.store_run(metadata.namespace, metadata.name, metadata.uid, ENDED, self.clock.now())
        return self.store.runs[f"/v1/namespaces/{metadata.namespace}/runs/{metadata.uid}"]

    def requests(self, part: str) -> int:
        return sum(part in request.path for request in self.server.requests)
