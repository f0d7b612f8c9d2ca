"""Stores what is too large for its TaskRun in the archive, before the outcome is written (ADR 0024).

An event is stored as the encoded text that the task's pod decodes. The event of a task without a pod is its result and
is stored as any result. If it cannot be stored, the wait fails with its size and the reason. The event of a Schedule's
source is never stored here: the operator reads it, and the archive keeps values by Workflow. Neither is that of a
container: its environment contains it, and it cannot read the archive.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias

from torpor.runtime import result_encoding
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveResponse, find_endpoint
from torpor_wire import constants, typed_json
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Done, Failed, Fired, Outcome

RETRY = Backoff(first=1.0, cap=30.0, jitter=0.0)
ATTEMPTS = 7
"""About a minute, which covers a restart of the archive's database."""
_AGAIN = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_FIELDS = ("size", "digest", "type", "length", "keys", "name")
_SOURCE = "a Schedule's source; store the data and return its location"
_CONTAINER = "the environment of a container; wait for a smaller event, or in a python task"
_NONE = "and no archive is installed for larger ones; store the data and return its location"

log = logging.getLogger(__name__)


class ArchiveUploadClient(Protocol):
    """Sends a body, as torpor_kubernetes.client.archive.ArchiveClient does."""

    async def put(
        self, endpoint: ArchiveEndpoint, path: str, headers: Mapping[str, str], body: bytes
    ) -> ArchiveResponse:
        """Send one body. Raises OSError if there is no response."""

    async def post_json(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Send a value as JSON. Raises OSError if there is no response."""


Request: TypeAlias = Callable[[ArchiveUploadClient, ArchiveEndpoint], Awaitable[ArchiveResponse]]
"""Sends one request. Raises OSError if there is no response."""


class LargeValueStore:
    """The archive as the triggerer uses it; without `client` there is none."""

    def __init__(self, api: Api, namespace: str, client: ArchiveUploadClient | None) -> None:
        self._api = api
        self._namespace = namespace
        self._client = client

    async def store_large(self, wait: TriggerWait, outcome: Outcome) -> Outcome:
        """Return the outcome as it fits on the TaskRun."""
        match outcome:
            case Fired(event=event) if wait.of_schedule and _size(event) > constants.EVENT_MAX:
                return Failed(reason=Reason.EVENT_INVALID, message=f"{_too_large(event)} on the TaskRun of {_SOURCE}")
            case Fired(event=event) if wait.of_container and _size(event) > constants.EVENT_MAX:
                return Failed(reason=Reason.EVENT_INVALID, message=f"{_too_large(event)} into {_CONTAINER}")
            case Fired(event=event) if wait.resumes and _size(event) > constants.EVENT_MAX:
                return await self._event(wait, event)
            case Fired(event=text) if not wait.resumes and _size(text) > constants.RESULT_MAX:
                return await self._result(wait, text)
            case Done(result=str() as text) if _size(text) > constants.RESULT_MAX:
                return await self._result(wait, text)
            case _:
                return outcome

    async def _event(self, wait: TriggerWait, event: str) -> Fired | Failed:
        prefix = _too_large(event)
        headers = {"Content-Type": "application/octet-stream", "Torpor-Type": "bytes"}
        stored = await self._put(wait, "event", headers, event.encode())
        match stored:
            case None | str():
                return _not_stored(prefix, stored, without_archive=Reason.EVENT_INVALID)
            case _:
                return Fired(event=typed_json.archived_event(stored))

    async def _result(self, wait: TriggerWait, text: str) -> Done | Failed:
        prefix = f"the result is {_size(text)} bytes of JSON and {constants.RESULT_MAX} fit"
        body = result_encoding.encode_result(json.loads(text), 0)
        if isinstance(body, str):
            raise TypeError("a text of more than 8 kB is a body")
        headers = {"Content-Type": body.content_type, "Torpor-Type": body.kind}
        stored = await self._put(wait, "event?as=result", headers, b"".join(body.pieces()))
        match stored:
            case None | str():
                return _not_stored(prefix, stored, without_archive=Reason.RESULT_INVALID)
            case _:
                return _done(stored)

    async def copy_run_result(self, wait: TriggerWait, run: str) -> Done | Failed:
        """Return the result of a run in a run as that of its task: the archive copies it, and it is not read here."""
        path = _path(wait, f"run-result/{run}")
        stored = await self._send(lambda client, endpoint: client.post_json(endpoint, path, {}))
        match stored:
            case None | str():
                why = "no archive is installed" if stored is None else f"the archive did not copy it: {stored}"
                message = f"the result of run {run} is in the archive; {why}"
                return Failed(reason=Reason.RESULT_NOT_STORED, message=message)
            case _:
                return _done(stored)

    async def _put(
        self, wait: TriggerWait, end: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, Any] | str | None:
        path = _path(wait, end)
        return await self._send(lambda client, endpoint: client.put(endpoint, path, headers, body))

    async def _send(self, request: Request) -> Mapping[str, Any] | str | None:
        """Return the archive's answer, or why it did not store a body; None if no archive is installed."""
        prefix = ""
        for failures in range(1, ATTEMPTS + 1):
            try:
                endpoint = await find_endpoint(self._api, self._namespace)
                if endpoint is None or self._client is None:
                    return None
                response = await request(self._client, endpoint)
            except (OSError, errors.ApiError) as error:
                prefix = f"{type(error).__name__}: {error}"
            else:
                answer = _object(response.body)
                if response.status == HTTPStatus.CREATED:
                    return answer
                prefix = f"HTTP {response.status}: {answer.get('message', '')}"
                if response.status not in _AGAIN and response.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    return prefix
            log.warning("Failed to store a large value in the archive; retrying: %s", prefix)
            if failures < ATTEMPTS:
                await self._api.clock.sleep(RETRY.delay(failures))
        return prefix


def _not_stored(prefix: str, cause: str | None, *, without_archive: Reason) -> Failed:
    """The failure of a wait whose value is not in the archive; no `cause` means that no archive is installed."""
    if cause is None:
        return Failed(reason=without_archive, message=f"{prefix}, {_NONE}")
    return Failed(reason=Reason.RESULT_NOT_STORED, message=f"{prefix}; the archive did not store it: {cause}")


def _path(wait: TriggerWait, end: str) -> str:
    return f"/v1/namespaces/{wait.namespace}/taskruns/{wait.name}/{end}"


def _done(stored: Mapping[str, Any]) -> Done:
    return Done(result=None, stored={name: stored[name] for name in _FIELDS if stored.get(name) is not None})


def _too_large(event: str) -> str:
    return f"the event is {_size(event)} bytes of JSON and {constants.EVENT_MAX} fit"


def _size(text: str) -> int:
    return len(text.encode())


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        stored = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}
