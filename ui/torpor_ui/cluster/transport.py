"""What a caller's connection to the API server must offer: requests with headers of their own, and streams of bytes."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from torpor_kubernetes.client.transport import JSON, Response


class CallerTransport(Protocol):
    """Sends requests to the API server as one caller. `torpor_kubernetes.client.http.HttpTransport` is one."""

    async def request(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request and return the response, also for error status codes. Raises `errors.Unreachable`."""

    def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the events of a watch until the server ends it. Raises `errors.ApiError`."""

    def chunks(
        self, path: str, *, query: Mapping[str, str], seconds: float, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield a response as it arrives, for up to `seconds`. Raises `errors.ApiError`."""

    def as_caller(self, authorization: Callable[[], Awaitable[str | None]]) -> "CallerTransport":
        """Return a transport with other credentials over the same connections."""
