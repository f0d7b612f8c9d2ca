"""The interface of a transport to the API server: one request, or one stream of watch events.

`http` implements it; the tests have an in-memory server. It carries paths and JSON. Kinds, retries and the meaning of
status codes belong to `api` and `errors`.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple, Protocol

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
"""The type of server-side apply. JSON is YAML, too."""


class Response(NamedTuple):
    """The status code, the parsed body, and `Retry-After` in seconds."""

    status: int
    body: Any
    retry_after: float | None = None


class Transport(Protocol):
    """Sends requests to one API server."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request and return the response, also for error status codes.

        Raises `errors.Unreachable` without a response; a write may or may not have happened.
        """

    def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the events of a watch until the server ends it.

        Raises `errors.ApiError` if the status is not 200, `errors.Unreachable` if the connection breaks.
        """
