"""A transport that reports each write with its result and duration, for metrics. Reads are not reported."""

from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.transport import JSON, Response, Transport

Observe = Callable[[str, str, str, float], None]
"""Takes the resource such as `taskruns/status`, the verb, the result, and the duration in seconds."""

_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
_OK = "OK"


class ObservedTransport:
    """Sends requests by another transport."""

    def __init__(self, transport: Transport, observe: Observe, monotonic: Callable[[], float]) -> None:
        self._transport = transport
        self._observe = observe
        self._monotonic = monotonic

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request. Raises what the other transport raises."""
        verb = _VERBS.get(method)
        if verb is None:
            return await self._transport.request(method, path, query=query, body=body, content_type=content_type)
        started = self._monotonic()
        result = errors.Unreachable.__name__
        try:
            response = await self._transport.request(method, path, query=query, body=body, content_type=content_type)
            result = result_name(response)
        finally:
            self._observe(resource_in(path), verb, result, self._monotonic() - started)
        return response

    def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """The events of a watch."""
        return self._transport.stream(path, query=query)


def result_name(response: Response) -> str:
    """OK, or the name of the error, such as LostRace."""
    return _OK if response.status < HTTPStatus.BAD_REQUEST else type(errors.from_response(response)).__name__


def resource_in(path: str) -> str:
    """The resource of a path of the API, with its subresource: `taskruns/status`."""
    parts = path.strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:]
    if len(parts) > 2 and parts[0] == "namespaces":  # noqa: PLR2004 - namespaces, a name, and what is in it
        parts = parts[2:]
    return "/".join((*parts[:1], *parts[2:]))
