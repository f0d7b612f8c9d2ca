"""Requests to the archive: over TLS, trusting its own certificate alone, with the token of the operator's pod."""

import json
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp
from torpor_api.api import Object

from torpor_operator.archive import NotArchivedError
from torpor_operator.surroundings import ArchiveSeat

TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
_LIMIT = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0)
_SHOWN = 300


class ArchiveClient:
    """Puts objects into the archive; the token is read each time, since the kubelet renews it in place."""

    def __init__(self, token_file: str) -> None:
        self._token_file = Path(token_file)

    async def __call__(self, seat: ArchiveSeat, path: str, objects: Sequence[Object]) -> None:
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
