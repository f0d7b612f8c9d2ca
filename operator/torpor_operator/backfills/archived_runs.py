"""Finds a run that is no longer in the cluster: in the archive, by its name."""

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlencode

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_wire import constants

from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome
from torpor_operator.controller.archive import NotArchivedError

FindArchived: TypeAlias = Callable[[str, str], Awaitable[KnownRun | None]]
"""The run in the archive with this namespace and name, or None. Raises NotArchivedError if the archive cannot say."""

_MESSAGE_CHARACTERS = 300


class Reader(Protocol):
    """Reads from the archive."""

    async def get(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveResponse:
        """Read a body. Raises OSError if there is no response."""


class ArchivedRuns:
    """The runs in the archive; none if no archive is installed."""

    def __init__(self, endpoint: Callable[[], ArchiveEndpoint | None], reader: Reader) -> None:
        self._endpoint = endpoint
        self._reader = reader

    async def find(self, namespace: str, name: str) -> KnownRun | None:
        """The last archived run of this name. Raises NotArchivedError."""
        endpoint = self._endpoint()
        if endpoint is None:
            return None
        path = f"/v1/namespaces/{namespace}/runs?{urlencode({'name': name, 'limit': 1})}"
        try:
            response = await self._reader.get(endpoint, path)
        except OSError as error:
            raise NotArchivedError(str(error)) from error
        if response.status != HTTPStatus.OK:
            message = response.body.decode(errors="replace")[:_MESSAGE_CHARACTERS]
            raise NotArchivedError(f"the archive responded {response.status}: {message}")
        try:
            items = json.loads(response.body)["items"]
            return _run(items[0]) if items else None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise NotArchivedError(f"the list of runs of the archive cannot be read: {error}") from error


async def no_archive(_namespace: str, _name: str) -> KnownRun | None:
    """The FindArchived of an installation without an archive."""
    return None


def _run(item: dict[str, Any]) -> KnownRun:
    return KnownRun(
        name=str(item["name"]),
        outcome=RunOutcome.SUCCEEDED if item["state"] == RunOutcome.SUCCEEDED else RunOutcome.FAILED,
        backfill=item["labels"].get(constants.LABEL_BACKFILL),
        created=str(item["created"]),
    )
