"""The operator's client of the archive: finds it, tells task pods its address, and stores finished runs in it.

Its address and certificate are in a ConfigMap beside the operator, which is read every few seconds. Without the
ConfigMap there is no archive.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from http import HTTPStatus
from typing import Never, Protocol

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.archive import ArchiveClient, find_endpoint
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import constants, names

from torpor_operator.controller.run_events import RunEvents, to_line

_LOG = logging.getLogger(__name__)
_DISCOVERY_INTERVAL = 10.0
_MESSAGE_CHARACTERS = 300
_PAGE = 100
"""TaskRuns that are in memory at a time."""
_STALL_SECONDS = 60.0
"""How long the archive may accept no data, and how long it may take to respond."""
_COMPLETED_HEADER = "Torpor-Completed"
UPLOAD_SECONDS = 900.0


class NotArchivedError(Exception):
    """The archive did not accept a run; a later upload retries."""


class SupersededError(Exception):
    """The run is gone or has been cleared; there is nothing to archive."""


class RunStore(Protocol):
    """Stores runs."""

    async def put(self, endpoint: ArchiveEndpoint, path: str, lines: AsyncIterator[bytes]) -> None:
        """Send lines of JSON. Raises NotArchivedError."""

    async def completed(self, endpoint: ArchiveEndpoint, path: str) -> str | None:
        """The completion time of the run at this path, or None if the archive has no such run. Raises as `put`."""


class Archive:
    """The archive of this installation, if there is one."""

    def __init__(self, api: Api, namespace: str, store: RunStore) -> None:
        self._api = api
        self._namespace = namespace
        self._store = store
        self.events = RunEvents(api)
        self._endpoint: ArchiveEndpoint | None = None
        self._discovered = asyncio.Event()

    def endpoint(self) -> ArchiveEndpoint | None:
        """The address, or None if there is no archive or discovery has not finished."""
        return self._endpoint

    async def discovered(self) -> None:
        """Wait for the first discovery. Before it, a TTL must not delete a run as if there were no archive."""
        await self._discovered.wait()

    async def run(self) -> Never:
        """Discover the archive, forever."""
        while True:
            try:
                await self._discover()
                self._discovered.set()
            except errors.Forbidden as error:
                _LOG.warning(
                    "not allowed to read the archive's address, going on without an archive: %s", error.message
                )
                self._discovered.set()
            except errors.ApiError as error:
                _LOG.warning("cannot read the archive's address: %s", error.message)
            await self._api.clock.sleep(_DISCOVERY_INTERVAL)

    async def store_run(self, namespace: str, name: str, uid: str, completed: str, since: float) -> None:
        """Store a finished Workflow, its TaskRuns and their Events as they are.

        `completed` is its completion time; Events posted before `since` are included. Raises NotArchivedError,
        SupersededError, errors.ApiError.
        """
        endpoint = self._require_endpoint()
        try:
            workflow = await self._api.get(WORKFLOWS, namespace, name)
        except errors.NotFound as error:
            raise SupersededError("the Workflow is gone") from error
        if (workflow["metadata"]["uid"], (workflow.get("status") or {}).get("completionTime")) != (uid, completed):
            raise SupersededError("the Workflow has changed")
        # Not closed here: after an early response the client's writer, which it cancels, may still be in the generator.
        await self._store.put(endpoint, _path(namespace, uid), self._lines(workflow, since))

    async def has_run(self, namespace: str, uid: str, completed: str) -> bool:
        """Whether the archive has the run that completed at this time. Raises NotArchivedError."""
        return await self._store.completed(self._require_endpoint(), _path(namespace, uid)) == completed

    async def _lines(self, workflow: Object, since: float) -> AsyncGenerator[bytes, None]:
        """The lines of a run, page by page."""
        metadata = workflow["metadata"]
        namespace, uid = metadata["namespace"], metadata["uid"]
        yield to_line(workflow)
        uids = [uid]
        selector = f"{constants.LABEL_WORKFLOW}={names.label(metadata['name'])}"
        pages = self._api.pages(TASKRUNS, namespace, label_selector=selector, limit=_PAGE)
        async with aclosing(pages):
            async for page in pages:
                for run in page.items:
                    if run["spec"]["workflow"]["uid"] == uid:
                        uids.append(run["metadata"]["uid"])
                        yield to_line(run)
        for line in await self.events.about(namespace, uids, since):
            yield line

    def _require_endpoint(self) -> ArchiveEndpoint:
        if self._endpoint is None:
            raise NotArchivedError("there is no longer an archive")
        return self._endpoint

    async def _discover(self) -> None:
        self._endpoint = await find_endpoint(self._api, self._namespace)


class HttpRunStore:
    """Stores runs over HTTPS."""

    def __init__(self, client: ArchiveClient) -> None:
        self._client = client

    async def put(self, endpoint: ArchiveEndpoint, path: str, lines: AsyncIterator[bytes]) -> None:
        """Upload the lines. Raises NotArchivedError with the archive's message or the network error."""
        failure: list[Exception] = []

        async def body() -> AsyncIterator[bytes]:
            try:
                async for line in lines:
                    limit.reschedule(asyncio.get_running_loop().time() + _STALL_SECONDS)
                    yield line
            except Exception as error:
                failure.append(error)
                raise  # the client then closes the connection, so that the archive does not take a part for the whole

        try:
            async with asyncio.timeout(_STALL_SECONDS) as limit:
                response = await self._client.put(endpoint, path, {"Content-Type": "application/x-ndjson"}, body())
        except (OSError, TimeoutError) as error:
            if failure:
                raise failure[0] from error
            raise NotArchivedError(str(error) or f"the archive accepted no data for {_STALL_SECONDS:g} s") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            message = response.body.decode(errors="replace")[:_MESSAGE_CHARACTERS]
            raise NotArchivedError(f"the archive responded {response.status}: {message}")

    async def completed(self, endpoint: ArchiveEndpoint, path: str) -> str | None:
        """Ask for the run at this path. Raises NotArchivedError."""
        try:
            async with asyncio.timeout(_STALL_SECONDS):
                response = await self._client.head(endpoint, path)
        except (OSError, TimeoutError) as error:
            raise NotArchivedError(str(error) or f"the archive did not respond for {_STALL_SECONDS:g} s") from error
        if response.status == HTTPStatus.NOT_FOUND:
            return None
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise NotArchivedError(f"the archive responded {response.status}")
        return response.headers.get(_COMPLETED_HEADER, "")


def _path(namespace: str, uid: str) -> str:
    return f"/v1/namespaces/{namespace}/runs/{uid}"
