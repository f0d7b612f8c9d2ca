"""The shape of the door to the API server: one request, one stream of watch events.

`client` is the real one, the in-memory server of the tests another. It carries paths and JSON and knows no kinds,
no retries and no meaning of a status code; those are `api` and `errors`.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple, Protocol

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"


class Response(NamedTuple):
    """What the server answered: the status code, the parsed body, and `Retry-After` in seconds."""

    status: int
    body: Any
    retry_after: float | None = None


class Transport(Protocol):
    """Requests to one API server."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request and return the answer, whatever its status code.

        Raises `errors.Unreachable` where there is none; a write may then have been carried out or not.
        """

    def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the events of a watch until the server ends it.

        Raises `errors.ApiError` where the answer is not 200, `errors.Unreachable` where the connection breaks.
        """
