"""Requests to the archive: over TLS, trusting its own certificate alone, with the token of the triggerer's pod."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp

from torpor_triggerer.archive import Seat

TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
_LIMIT = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0)
_ANSWER_MAX = 64 * 1024


class ArchiveClient:
    """Puts bodies into the archive; the token is read each time, since the kubelet renews it in place."""

    def __init__(self, token_file: str = TOKEN_FILE) -> None:
        self._token_file = Path(token_file)

    async def __call__(
        self, seat: Seat, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, Any]]:
        """The status and the JSON of the answer. Raises OSError where there is none."""
        try:
            trust = ssl.create_default_context(cadata=seat.certificate)
            given = {"Authorization": f"Bearer {self._token_file.read_text().strip()}", **headers}
            async with (
                aiohttp.ClientSession(timeout=_LIMIT) as session,
                session.put(seat.url + path, data=body, headers=given, ssl=trust, allow_redirects=False) as answer,
            ):
                return answer.status, _object(await answer.content.read(_ANSWER_MAX))
        except (aiohttp.ClientError, TimeoutError, ssl.SSLError) as error:
            raise OSError(f"the archive cannot be reached: {type(error).__name__}: {error}") from error


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
