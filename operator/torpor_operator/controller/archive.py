"""The operator's client of the archive: finds it, tells task pods its address, and stores finished runs in it.

Its address and certificate are in a ConfigMap beside the operator, which is read every few seconds. Without the
ConfigMap there is no archive.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Never, Protocol

from torpor_api.client import errors
from torpor_api.client.api import Api, Object
from torpor_api.client.archive import ArchiveClient, find_endpoint
from torpor_api.client.resources import TASKRUNS, WORKFLOWS
from torpor_api.models.archive_endpoint import ArchiveEndpoint
from torpor_wire import constants, names

_LOG = logging.getLogger(__name__)
_DISCOVERY_INTERVAL = 10.0
_MESSAGE_CHARACTERS = 300


class NotArchivedError(Exception):
    """The archive did not accept a run; a later pass retries."""


class Upload(Protocol):
    """Sends objects as lines of JSON to a path of the archive. Raises NotArchivedError."""

    async def __call__(self, endpoint: ArchiveEndpoint, path: str, objects: Sequence[Object]) -> None:
        """Send them."""


class Archive:
    """The archive of this installation, if there is one."""

    def __init__(self, api: Api, namespace: str, upload: Upload) -> None:
        self._api = api
        self._namespace = namespace
        self._upload = upload
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

    async def store_run(self, namespace: str, name: str, uid: str) -> None:
        """Store a finished Workflow and its TaskRuns as they are. Raises NotArchivedError, errors.ApiError."""
        endpoint = self._endpoint
        if endpoint is None:
            raise NotArchivedError("there is no archive any more")
        workflow = await self._api.get(WORKFLOWS, namespace, name)
        selector = f"{constants.LABEL_WORKFLOW}={names.label(name)}"
        labelled = (await self._api.list(TASKRUNS, namespace, label_selector=selector)).items
        runs = [run for run in labelled if run["spec"]["workflow"]["uid"] == uid]
        await self._upload(endpoint, f"/v1/namespaces/{namespace}/runs/{uid}", [workflow, *runs])

    async def _discover(self) -> None:
        self._endpoint = await find_endpoint(self._api, self._namespace)


class ArchiveUploader:
    """Uploads objects to the archive as lines of JSON."""

    def __init__(self, client: ArchiveClient) -> None:
        self._client = client

    async def __call__(self, endpoint: ArchiveEndpoint, path: str, objects: Sequence[Object]) -> None:
        """Upload them. Raises NotArchivedError with the archive's message or the network error."""
        try:
            response = await self._client.put(endpoint, path, {"Content-Type": "application/x-ndjson"}, _lines(objects))
        except OSError as error:
            raise NotArchivedError(str(error)) from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            message = response.body.decode(errors="replace")[:_MESSAGE_CHARACTERS]
            raise NotArchivedError(f"the archive responded {response.status}: {message}")


async def _lines(objects: Sequence[Object]) -> AsyncIterator[bytes]:
    for each in objects:
        yield json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
