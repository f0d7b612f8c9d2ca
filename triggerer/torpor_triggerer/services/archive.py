"""What is too large for its TaskRun, put into the archive before the outcome is written (adr/0024).

An event goes there as the encoded text that the task's pod decodes; the event of a task that is only a wait is its
result, and goes there as any result does. The ConfigMap that the archive publishes says where it is; it is read when
it is needed. What cannot be put is an outcome too: the wait fails with its size and the reason.
"""

import json
import logging
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import aiohttp
from torpor.runtime import result_encoding
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS
from torpor_wire import constants, stored_event
from torpor_wire.backoff import Backoff
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Done, Failed, Fired, Outcome

RETRY = Backoff(first=1.0, cap=30.0, jitter=0.0)
ATTEMPTS = 7
"""About a minute, which covers a restart of the archive's database."""
_AGAIN = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_FIELDS = ("size", "digest", "type", "length", "keys")
_NONE = "and no archive is installed, which keeps larger ones: pass on where to find it instead"

log = logging.getLogger(__name__)


class ArchiveEndpoint(NamedTuple):
    """Where the archive is, and the certificate that it made for itself, PEM."""

    url: str
    certificate: str


class Put(Protocol):
    """Sends a body."""

    async def __call__(
        self, seat: ArchiveEndpoint, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, Any]]:
        """The status and the JSON of the answer. Raises OSError where there is none."""


class Archive:
    """The archive as a triggerer knows it; without `put` there is none."""

    def __init__(self, api: Api, namespace: str, put: Put | None) -> None:
        self._api = api
        self._namespace = namespace
        self._put = put

    async def kept(self, wait: Wait, outcome: Outcome) -> Outcome:
        """The outcome as it fits on the TaskRun."""
        match outcome:
            case Fired(event=event) if wait.resumes and _size(event) > constants.EVENT_MAX:
                return await self._event(wait, event)
            case Fired(event=text) if not wait.resumes and _size(text) > constants.RESULT_MAX:
                return await self._result(wait, text)
            case Done(result=str() as text) if _size(text) > constants.RESULT_MAX:
                return await self._result(wait, text)
            case _:
                return outcome

    async def _event(self, wait: Wait, event: str) -> Fired | Failed:
        said = f"the event is {_size(event)} bytes of JSON and {constants.EVENT_MAX} fit"
        headers = {"Content-Type": "application/octet-stream", "Torpor-Type": "bytes"}
        found = await self._sent(wait, "event", headers, event.encode())
        match found:
            case None:
                return Failed(reason=Reason.EVENT_INVALID, message=f"{said}, {_NONE}")
            case str():
                return Failed(reason=Reason.RESULT_NOT_STORED, message=f"{said}; it is not in the archive: {found}")
            case _:
                return Fired(event=stored_event.written(found))

    async def _result(self, wait: Wait, text: str) -> Done | Failed:
        said = f"the result is {_size(text)} bytes of JSON and {constants.RESULT_MAX} fit"
        body = result_encoding.of(json.loads(text), 0)
        if isinstance(body, str):
            raise TypeError("a text of more than 8 kB is a body")
        headers = {"Content-Type": body.content_type, "Torpor-Type": body.kind}
        found = await self._sent(wait, "event?as=result", headers, b"".join(body.pieces()))
        match found:
            case None:
                return Failed(reason=Reason.RESULT_INVALID, message=f"{said}, {_NONE}")
            case str():
                return Failed(reason=Reason.RESULT_NOT_STORED, message=f"{said}; it is not in the archive: {found}")
            case _:
                return Done(result=None, stored={name: found[name] for name in _FIELDS if found.get(name) is not None})

    async def _sent(
        self, wait: Wait, end: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, Any] | str | None:
        """What the archive says of it; why it does not take it; None where there is no archive."""
        path, said = f"/v1/namespaces/{wait.namespace}/taskruns/{wait.name}/{end}", ""
        for failures in range(1, ATTEMPTS + 1):
            try:
                seat = await self._seat()
                if seat is None or self._put is None:
                    return None
                status, answer = await self._put(seat, path, headers, body)
            except (OSError, errors.ApiError) as error:
                said = f"{type(error).__name__}: {error}"
            else:
                if status == HTTPStatus.CREATED:
                    return answer
                said = f"HTTP {status}: {answer.get('message', '')}"
                if status not in _AGAIN and status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    return said
            log.warning("what is too large for its TaskRun is not in the archive yet: %s", said)
            if failures < ATTEMPTS:
                await self._api.clock.sleep(RETRY.delay(failures))
        return said

    async def _seat(self) -> ArchiveEndpoint | None:
        try:
            found = await self._api.get(CONFIG_MAPS, self._namespace, constants.ARCHIVE_CONFIG)
        except errors.NotFound:
            return None
        data = found.get("data") or {}
        stands = data.get("url") and data.get("ca.crt")
        return ArchiveEndpoint(data["url"].rstrip("/"), data["ca.crt"]) if stands else None


def _size(text: str) -> int:
    return len(text.encode())


TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
_LIMIT = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0)
_ANSWER_MAX = 64 * 1024


class ArchiveClient:
    """Puts bodies into the archive; the token is read each time, since the kubelet renews it in place."""

    def __init__(self, token_file: str = TOKEN_FILE) -> None:
        self._token_file = Path(token_file)

    async def __call__(
        self, seat: ArchiveEndpoint, path: str, headers: Mapping[str, str], body: bytes
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
