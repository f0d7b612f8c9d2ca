"""Reads the archive through the service proxy of the API server, with tokens that the caller may create (ADR 0050).

The caller's own token never reaches the archive, which could act with it. A token of the reader of a namespace has the
archive's audience and is valid for ten minutes.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from urllib.parse import quote

from torpor_kubernetes.client import decoding
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.http import lines
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.transport import Response
from torpor_wire import constants

from torpor_ui import errors
from torpor_ui.cluster.transport import CallerTransport
from torpor_ui.errors import ProblemError

READER = "torpor-reader"
"""The ServiceAccount whose tokens read the archive in all namespaces."""
HEADER = "Torpor-Authorization"
SERVICE_ACCOUNTS = Resource(group="", version="v1", plural="serviceaccounts", kind="ServiceAccount")
STREAM_SECONDS = 900.0
_SERVICE = f"services/https:{constants.ARCHIVE_CONFIG}:8443/proxy/v1"
_TOKEN_SECONDS = 600


class ArchiveReader:
    """The archive of an installation, as one caller may read it. Methods raise ProblemError.

    `system` is the namespace of the installation.
    """

    def __init__(
        self, api: Api, transport: CallerTransport, *, system: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._transport = transport
        self._system = system
        self._proxy = f"/api/v1/namespaces/{system}/{_SERVICE}"
        self._monotonic = monotonic
        self._tokens: dict[str | None, tuple[float, str]] = {}

    async def runs(self, namespace: str | None, query: Mapping[str, str]) -> tuple[list[Object], str]:
        """Return a page of archived runs, the latest end first, and what continues it. None: all namespaces."""
        place = f"/namespaces/{quote(namespace, safe='')}/runs" if namespace else "/runs"
        page = await self._json(namespace, place, query)
        return list(page.get("items") or ()), str(page.get("continue") or "")

    async def run(self, namespace: str, uid: str) -> AsyncGenerator[Object, None]:
        """Yield the objects of an archived run: the Workflow first, then its TaskRuns and Events."""
        async for line in self.lines(namespace, f"/namespaces/{quote(namespace, safe='')}/runs/{quote(uid, safe='')}"):
            try:
                item = decoding.loads(line)
            except ValueError:
                continue
            if isinstance(item, dict):
                yield item

    async def json(self, namespace: str | None, path: str, query: Mapping[str, str] | None = None) -> Object:
        """Return the JSON at a path below `/v1`."""
        return await self._json(namespace, path, query or {})

    async def lines(
        self, namespace: str, path: str, query: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a response below `/v1` as they arrive."""
        async with aclosing(self.chunks(namespace, path, query)) as received:
            try:
                async for line in lines(_terminated(received)):
                    yield line
            except ValueError as error:
                raise errors.too_large(f"the archive sent {error}") from error

    async def chunks(
        self, namespace: str, path: str, query: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a response below `/v1` as they arrive. The caller quotes the parts of the path."""
        headers = await self._headers(namespace)
        stream = self._transport.chunks(self._proxy + path, query=query or {}, seconds=STREAM_SECONDS, headers=headers)
        try:
            async with aclosing(stream):
                async for chunk in stream:
                    yield chunk
        except api_errors.ApiError as error:
            raise _translated(error) from error

    async def _json(self, namespace: str | None, path: str, query: Mapping[str, str]) -> Object:
        headers = await self._headers(namespace)
        try:
            response = await self._transport.request("GET", self._proxy + path, query=query, headers=headers)
        except api_errors.ApiError as error:
            raise _translated(error) from error
        return _body(response)

    async def _headers(self, namespace: str | None) -> Mapping[str, str]:
        renew_at, token = self._tokens.get(namespace, (0.0, ""))
        if not token or self._monotonic() >= renew_at:
            token = await self._request_token(namespace)
            self._tokens[namespace] = (self._monotonic() + _TOKEN_SECONDS / 2, token)
        return {HEADER: f"Bearer {token}"}

    async def _request_token(self, namespace: str | None) -> str:
        """Return a token of the namespace's reader, else of the reader of all namespaces."""
        if namespace is not None:
            try:
                return await self._create_token(namespace, constants.ARCHIVE_READER)
            except (api_errors.NotFound, api_errors.Forbidden):
                pass  # an older set-up of the namespace; an administrator still reads
            except api_errors.ApiError as error:
                raise _translated(error) from error
        try:
            return await self._create_token(self._system, READER)
        except api_errors.NotFound as error:
            raise away("the archive is not installed") from error
        except api_errors.Forbidden as error:
            place = f"of namespace {namespace}" if namespace else "of all namespaces"
            raise away(f"you may not read the archive {place}") from error
        except api_errors.ApiError as error:
            raise _translated(error) from error

    async def _create_token(self, namespace: str, account: str) -> str:
        spec = {"audiences": [constants.ARCHIVE_AUDIENCE], "expirationSeconds": _TOKEN_SECONDS}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        response = await self._transport.request("POST", SERVICE_ACCOUNTS.path(namespace, account, "token"), body=body)
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise api_errors.from_response(response)
        return str(response.body["status"]["token"])


def away(message: str) -> ProblemError:
    """503: the archive cannot be read: not installed, down, or not allowed. The page shows what the cluster has."""
    remedy = "Live runs are shown. For archived ones ask for ClusterRole view, and see `torpor doctor`."
    return errors.unavailable(message, remedy)


def _body(response: Response) -> Object:
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise _translated(api_errors.from_response(response))
    if not isinstance(response.body, dict):
        raise away("the archive sent no JSON")
    return response.body


def _translated(error: api_errors.ApiError) -> ProblemError:
    match error:
        case api_errors.NotFound() if error.message.startswith("services "):
            return away("the archive is not installed")
        case api_errors.NotFound():
            return errors.not_found(error.message)
        case api_errors.ApiUnavailable() | api_errors.Forbidden():
            return away(f"the archive cannot be read: {error.message}")
        case api_errors.ApiError(status=HTTPStatus.BAD_REQUEST):
            return errors.invalid(f"the archive rejects the request: {error.message}")
        case _:
            return away(f"the archive answered: {error.message}")


async def _terminated(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks with a line end after the last one, since `lines` drops a line without one."""
    async for chunk in chunks:
        yield chunk
    yield b"\n"
