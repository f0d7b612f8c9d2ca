"""The archive as the operator knows it: where it is, for task pods; and where finished runs are put before they go.

Its address and certificate stand in a ConfigMap beside the operator, read every few seconds; without one there is no
archive, and nothing is put there.
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
from torpor_wire import constants, names
from torpor_wire.archive_endpoint import ArchiveEndpoint

_LOG = logging.getLogger(__name__)
_EVERY = 10.0
_SHOWN = 300


class NotArchivedError(Exception):
    """A run that the archive did not take; it will be asked again."""


class Put(Protocol):
    """Sends objects, one JSON text a line, to a path of the archive. Raises NotArchivedError."""

    async def __call__(self, seat: ArchiveEndpoint, path: str, objects: Sequence[Object]) -> None:
        """Put them there."""


class Archive:
    """What there is of an archive, and the way to it."""

    def __init__(self, api: Api, namespace: str, put: Put) -> None:
        self._api = api
        self._namespace = namespace
        self._put = put
        self._seat: ArchiveEndpoint | None = None
        self._looked = asyncio.Event()

    def seat(self) -> ArchiveEndpoint | None:
        """Where it is; None where there is none, or it is not known yet."""
        return self._seat

    async def known(self) -> None:
        """Return once `seat` means what it says: until then a run must not go for want of an archive."""
        await self._looked.wait()

    async def run(self) -> Never:
        """Look where it is, for ever."""
        while True:
            try:
                await self._look()
                self._looked.set()
            except errors.Forbidden as error:
                _LOG.warning("may not see where the archive is, and does without one: %s", error.message)
                self._looked.set()
            except errors.ApiError as error:
                _LOG.warning("cannot see where the archive is: %s", error.message)
            await self._api.clock.sleep(_EVERY)

    async def keep(self, namespace: str, name: str, uid: str) -> None:
        """Put a finished Workflow and its TaskRuns there, as they are. Raises NotArchivedError, errors.ApiError."""
        seat = self._seat
        if seat is None:
            raise NotArchivedError("there is no archive any more")
        workflow = await self._api.get(WORKFLOWS, namespace, name)
        selector = f"{constants.LABEL_WORKFLOW}={names.label(name)}"
        found = (await self._api.list(TASKRUNS, namespace, label_selector=selector)).items
        runs = [run for run in found if run["spec"]["workflow"]["uid"] == uid]
        await self._put(seat, f"/v1/namespaces/{namespace}/runs/{uid}", [workflow, *runs])

    async def _look(self) -> None:
        self._seat = await find_endpoint(self._api, self._namespace)


_SHOWN = 300


class ArchiveUploader:
    """Puts objects into the archive as lines of JSON."""

    def __init__(self, client: ArchiveClient) -> None:
        self._client = client

    async def __call__(self, seat: ArchiveEndpoint, path: str, objects: Sequence[Object]) -> None:
        """Put them there. Raises NotArchivedError with the archive's response, or why there is none."""
        try:
            response = await self._client.put(seat, path, {"Content-Type": "application/x-ndjson"}, _lines(objects))
        except OSError as error:
            raise NotArchivedError(str(error)) from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            text = response.body.decode(errors="replace")[:_SHOWN]
            raise NotArchivedError(f"the archive answers {response.status}: {text}")


async def _lines(objects: Sequence[Object]) -> AsyncIterator[bytes]:
    for each in objects:
        yield json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
