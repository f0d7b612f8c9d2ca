"""Faults, latency and records of requests around the API server in memory."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.transport import JSON, Response
from torpor_kubernetes.timing import Clock
from torpor_local.apiserver.history import copied
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.server import ApiRequest, ApiServer


@dataclass(slots=True, kw_only=True)
class Fault:
    """What befalls the next requests that fit: an error `status`, or with none no answer; `commit` carries it out."""

    status: int | None = None
    reason: str = ""
    message: str = "an injected fault"
    causes: bool = False
    retry_after: float | None = None
    commit: bool = False
    method: str = ""
    path: str = ""
    times: int = 1

    def fits(self, request: ApiRequest) -> bool:
        return self.times > 0 and self.method in {"", request.method} and self.path in request.path

    def answer(self, request: ApiRequest) -> Response:
        if self.status is None:
            raise errors.Unreachable(f"{request.method} {request.path}: {self.message}")
        denied = DeniedError(self.status, self.reason, self.message, causes=self.causes)
        return Response(self.status, denied.body, self.retry_after)


class FakeApi(ApiServer):
    """See the package's docstring."""

    def __init__(self, clock: Clock, *, latency: float = 0.0) -> None:
        super().__init__(clock)
        self.requests: list[ApiRequest] = []
        self.on_write: Callable[[ApiRequest], None] = lambda _: None
        self.latency = latency
        self._clock = clock
        self._faults: list[Fault] = []

    def writes(self) -> list[ApiRequest]:
        """The requests that write."""
        return [request for request in self.requests if request.is_write]

    def inject(self, fault: Fault) -> None:
        """Let a fault befall the next requests that fit."""
        self._faults.append(fault)

    def compact(self) -> None:
        """Forget all changes until now: a watch or a list's next page from before is answered 410."""
        self.history.compact()
        self._pages.clear()

    def bookmark(self) -> None:
        """Send every watch a bookmark."""
        self._watches.bookmark()

    def end_watches(self, error: errors.ApiError | None = None, *, path: str = "") -> None:
        """End the watches whose collection's path contains `path`, normally or with an error."""
        self._watches.end(error, path)

    def hold_watches(self) -> None:
        """Deliver no event until `release_watches`: all watchers fall behind."""
        self._watches.hold(held=True)

    def release_watches(self) -> None:
        """Deliver what was held."""
        self._watches.hold(held=False)

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        request = ApiRequest(method=method, path=path, query=query or {}, body=copied(body))
        self.requests.append(request)
        await self._clock.sleep(self.latency)
        if request.is_write:
            self.on_write(request)
        fault = self._fault(request)
        if fault and not fault.commit:
            return fault.answer(request)
        response = self.respond(request)
        await self._clock.sleep(self.latency)
        return fault.answer(request) if fault else response

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        request = ApiRequest(method="WATCH", path=path, query=query, body=None)
        self.requests.append(request)
        await self._clock.sleep(self.latency)
        if fault := self._fault(request):
            raise errors.from_response(fault.answer(request))
        async with aclosing(super().stream(path, query=query)) as events:
            async for event in events:
                yield event

    def _fault(self, request: ApiRequest) -> Fault | None:
        fault = next((fault for fault in self._faults if fault.fits(request)), None)
        if fault:
            fault.times -= 1
        return fault
