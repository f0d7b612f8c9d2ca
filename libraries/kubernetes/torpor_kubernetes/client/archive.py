"""Finds the archive and sends bodies to it, for the operator and the triggerer."""

import json
import ssl
from collections.abc import AsyncIterable, Mapping
from pathlib import Path
from typing import NamedTuple

import aiohttp
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_wire import constants

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_kubernetes.process_settings import ARCHIVE_TOKEN_FILE

_LIMIT_SECONDS = 60.0
_CONNECT_SECONDS = 5.0
_RESPONSE_MAX = 64 * 1024


class ArchiveResponse(NamedTuple):
    """The status and the first 64 KiB of the body."""

    status: int
    body: bytes


class ArchiveHeaders(NamedTuple):
    """The status and the headers. A response to HEAD has no body."""

    status: int
    headers: Mapping[str, str]


async def find_endpoint(api: Api, namespace: str) -> ArchiveEndpoint | None:
    """Read the archive's ConfigMap; None if no archive is installed. Raises errors.ApiError."""
    try:
        config_map = await api.get(CONFIG_MAPS, namespace, constants.ARCHIVE_CONFIG)
    except errors.NotFound:
        return None
    data = config_map.get("data") or {}
    if not (data.get("url") and data.get("ca.crt")):
        return None
    return ArchiveEndpoint(url=data["url"].rstrip("/"), certificate=data["ca.crt"])


class ArchiveClient:
    """Sends bodies to the archive, with a token of the archive's audience.

    It reads the token for each request, since the kubelet renews it in place. `limit` is the longest duration of a
    request in seconds.
    """

    def __init__(self, token_file: str = ARCHIVE_TOKEN_FILE, *, limit: float = _LIMIT_SECONDS) -> None:
        self._token_file = Path(token_file)
        self._timeout = aiohttp.ClientTimeout(total=limit, sock_connect=_CONNECT_SECONDS)

    async def put(
        self, endpoint: ArchiveEndpoint, path: str, headers: Mapping[str, str], body: bytes | AsyncIterable[bytes]
    ) -> ArchiveResponse:
        """Send one body. Raises OSError if there is no response."""
        return (await self._request("PUT", endpoint, path, headers, body))[0]

    async def head(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveHeaders:
        """Read the headers of one body. Raises OSError if there is no response."""
        response, headers = await self._request("HEAD", endpoint, path, {}, None)
        return ArchiveHeaders(response.status, headers)

    async def get(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveResponse:
        """Read one body, up to 64 KiB of it. Raises OSError if there is no response."""
        return (await self._request("GET", endpoint, path, {}, None))[0]

    async def post_json(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Send a value as JSON. Raises OSError if there is no response."""
        content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
        return (await self._request("POST", endpoint, path, {"Content-Type": "application/json"}, content))[0]

    async def _request(
        self,
        method: str,
        endpoint: ArchiveEndpoint,
        path: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterable[bytes] | None,
    ) -> tuple[ArchiveResponse, Mapping[str, str]]:
        try:
            trust = ssl.create_default_context(cadata=endpoint.certificate)
            signed = {"Authorization": f"Bearer {self._token_file.read_text().strip()}", **headers}
            async with (
                aiohttp.ClientSession(timeout=self._timeout) as session,
                session.request(
                    method,
                    endpoint.url + path,
                    data=body,
                    headers=signed,
                    ssl=trust,
                    allow_redirects=False,
                ) as response,
            ):
                return ArchiveResponse(response.status, await _read(response.content)), response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # aiohttp's message contains a memory address, which differs on each attempt.
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            raise OSError(f"the archive cannot be reached: {type(cause).__name__}: {cause}") from error


async def _read(content: aiohttp.StreamReader) -> bytes:
    """Read the beginning of a body. One `read` returns only what has arrived."""
    body = bytearray()
    while len(body) < _RESPONSE_MAX and (part := await content.read(_RESPONSE_MAX - len(body))):
        body += part
    return bytes(body)
