"""The archive as the operator knows it: where it is, for task pods; and where finished runs are put before they go.

Its address and certificate stand in a ConfigMap beside the operator, read every few seconds; without one there is no
archive, and nothing is put there.
"""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Never, Protocol

import aiohttp
from torpor_api.client import errors
from torpor_api.client.api import Api, Object
from torpor_api.client.resources import CONFIG_MAPS, TASKRUNS, WORKFLOWS
from torpor_wire import constants, names

from torpor_operator.model.snapshot import ArchiveEndpoint

_LOG = logging.getLogger(__name__)
_EVERY = 10.0


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
        try:
            found = await self._api.get(CONFIG_MAPS, self._namespace, constants.ARCHIVE_CONFIG)
        except errors.NotFound:
            self._seat = None
            return
        data = found.get("data") or {}
        stands = data.get("url") and data.get("ca.crt")
        self._seat = ArchiveEndpoint(url=data["url"].rstrip("/"), certificate=data["ca.crt"]) if stands else None


_LIMIT = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0)
_SHOWN = 300


class ArchiveClient:
    """Puts objects into the archive; the token is read each time, since the kubelet renews it in place."""

    def __init__(self, token_file: str) -> None:
        self._token_file = Path(token_file)

    async def __call__(self, seat: ArchiveEndpoint, path: str, objects: Sequence[Object]) -> None:
        """Put them there as lines of JSON. Raises NotArchivedError with what the archive said, or why it could not."""
        try:
            trust = ssl.create_default_context(cadata=seat.certificate)
            headers = {
                "Authorization": f"Bearer {self._token_file.read_text().strip()}",
                "Content-Type": "application/x-ndjson",
            }
            async with (
                aiohttp.ClientSession(timeout=_LIMIT) as session,
                session.put(seat.url + path, data=_lines(objects), headers=headers, ssl=trust) as answer,
            ):
                if not answer.ok:
                    raise NotArchivedError(f"the archive answers {answer.status}: {(await answer.text())[:_SHOWN]}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # aiohttp's own words name an object by its address, which is another one at each try.
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            raise NotArchivedError(f"the archive cannot be reached: {type(cause).__name__}: {cause}") from error


async def _lines(objects: Sequence[Object]) -> AsyncIterator[bytes]:
    for each in objects:
        yield json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
