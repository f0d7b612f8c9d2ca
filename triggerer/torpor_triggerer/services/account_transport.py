"""Sends the requests of ServiceAccounts over the connections of this process, and reads watches at a limited pace.

A watch is decoded on the event loop. An object of a megabyte that changes a hundred times a second would take all of
it, so a namespace has a budget of bytes. Beyond it the connection is read later, and the API server holds the rest.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from torpor_kubernetes.client import decoding, errors
from torpor_kubernetes.client.http import WATCH_MARGIN_SECONDS, HttpTransport, lines
from torpor_kubernetes.client.transport import JSON, Response
from torpor_kubernetes.timing import Clock

from torpor_triggerer.services.account_tokens import Authorization

BYTES_PER_SECOND = 2 * 2**20
"""What all watches of a namespace may receive: about 2% of the time of the event loop."""
BURST_SECONDS = 4.0
NAMESPACES = 4096


class ByteBudget:
    """Bytes a second for each namespace. It holds the moment at which the budget of a namespace is whole again."""

    def __init__(self, rate: float = BYTES_PER_SECOND, burst: float = BURST_SECONDS) -> None:
        self._rate = rate
        self._burst = burst
        self._whole_at: OrderedDict[str, float] = OrderedDict()

    def reserve(self, namespace: str, size: int, now: float) -> float:
        """Take so many bytes. Returns the seconds after which they may be read."""
        whole_at = max(self._whole_at.get(namespace, now), now) + size / self._rate
        self._whole_at[namespace] = whole_at
        self._whole_at.move_to_end(namespace)
        if len(self._whole_at) > NAMESPACES:
            self._whole_at.popitem(last=False)
        return max(0.0, whole_at - now - self._burst)


class AccountTransport:
    """Implements `Transport` for one account."""

    def __init__(self, http: HttpTransport, namespace: str, budget: ByteBudget, clock: Clock) -> None:
        self._http = http
        self._namespace = namespace
        self._budget = budget
        self._clock = clock

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request."""
        return await self._http.request(method, path, query=query, body=body, content_type=content_type)

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, object], None]:
        """Yield watch events at the pace of the namespace. Raises as `HttpTransport.stream`."""
        seconds = float(query.get("timeoutSeconds", "0")) + WATCH_MARGIN_SECONDS
        try:
            async with aclosing(self._http.chunks(path, query=query, seconds=seconds)) as received:
                async for line in lines(received):
                    await self._clock.sleep(self._budget.reserve(self._namespace, len(line), self._clock.monotonic()))
                    yield decoding.decode_event(line)
        except ValueError as exc:
            raise errors.Unreachable(f"watch of {path}: {exc}") from exc


class AccountTransports:
    """Makes transports of accounts. Raises `errors.Unconfigured` if each request would carry a client certificate."""

    def __init__(self, http: HttpTransport, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._budget = ByteBudget()

    def transport_for(self, namespace: str, authorization: Authorization) -> AccountTransport:
        """Return the transport that sends this authorization. It never falls back to that of the process."""
        if self._http.has_certificate:
            raise errors.Unconfigured(
                "the triggerer identifies itself by a client certificate, which the API server would prefer to a token "
                "of the task's account: give it a kubeconfig with a token"
            )
        return AccountTransport(self._http.as_caller(authorization), namespace, self._budget, self._clock)
