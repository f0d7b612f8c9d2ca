"""The API server of a simulation: the in-memory one, behind a network with delays, losses and errors.

Requests and responses take time. The `FaultPolicy` decides on the faults of each. Every committed change goes to the
observers first, and then to the watches, each with its own lag.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.transport import JSON, Response
from torpor_local.apiserver.history import Object, ObjectChange, cloned, collection, copied, event_of
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.selection import ListQuery
from torpor_local.apiserver.server import ApiRequest
from torpor_local.apiserver.watches import BOOKMARK_SECONDS, bookmark

from tests.simulation.loop import VirtualLoop
from tests.simulation.process import Process, ProcessClock
from tests.support.fake_api import FakeApi


@dataclass(slots=True, kw_only=True)
class RequestFault:
    """The fault of one request. Delays are in seconds."""

    there: float = 0.01
    back: float = 0.01
    status: int | None = None  # respond with it, without executing the request
    lost: bool = False  # no response
    late: float | None = None  # execute it after this delay
    dropped: bool = False  # never execute it
    crash: str = ""  # crash the sender "before" or "after" execution
    stale: int = 0  # return a list that is this many changes old


class FaultPolicy(Protocol):
    """Decides on the faults of requests and watches."""

    def request_fault(self, process: Process, request: ApiRequest) -> RequestFault:
        """Return the fault of a request."""

    def lag(self, process: Process, collection: str) -> float:
        """Return the delay of a watch event in seconds."""

    def behind(self) -> float:
        """Return the delay of a new watch's first event in seconds."""

    def coalesces(self) -> bool:
        """Return whether a watch skips superseded versions."""


class _Watcher:
    def __init__(self, process: Process, selection: ListQuery, namespace: str) -> None:
        self.process = process
        self.selection = selection
        self.namespace = namespace
        self.pending: deque[tuple[float, Object]] = deque()
        self.woken: asyncio.Future[None] | None = None
        self.ended: errors.ApiError | None = None
        self.over = False

    def poke(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class SimulatedApiServer:
    """The shared state of all processes."""

    def __init__(self, loop: VirtualLoop, fault_policy: FaultPolicy) -> None:
        self.loop = loop
        self.process = Process(loop, "server", "apiserver")
        self.fake = FakeApi(ProcessClock(self.process))
        self.fake.objects.graceful_pods = self.fake.objects.nodes = True
        self.fake.objects.collects_at_once = False
        self.fake.history.on_change = self._changed
        self.fault_policy = fault_policy
        self.observers: list[Callable[[Process, ObjectChange], None]] = []
        self.on_request: Callable[[Process, ApiRequest, Response | str], None] = lambda *_: None
        self.on_late: Callable[[Process], None] = lambda _: None
        self.crash: Callable[[Process], None] = lambda _: None
        self.writer = self.process
        self.watchers: dict[str, list[_Watcher]] = {}

    def transport(self, process: Process) -> "Network":
        """Return the transport of a process."""
        return Network(self, process)

    def act(self, process: Process, change: Callable[[], Any]) -> Any:
        """Apply a change without the network, for a kubelet or a user."""
        before, self.writer = self.writer, process
        try:
            return change()
        finally:
            self.writer = before

    def break_watches(self, process: Process, error: errors.ApiError | None) -> None:
        """End the watches of a process, with an error or normally."""
        for watcher in [watch for many in self.watchers.values() for watch in many if watch.process is process]:
            watcher.ended, watcher.over = error, True
            watcher.poke()

    def arrive(
        self,
        process: Process,
        request: ApiRequest,
        request_fault: RequestFault,
        answer: "asyncio.Future[Response | str]",
    ) -> None:
        """Deliver the request, unless it is dropped."""
        if request_fault.crash == "before":
            self.crash(process)
            return
        if request_fault.late is not None:
            self.process.call_later(request_fault.late, self._carry_out, process, request, request_fault)
            self.on_late(process)
            response: Response | str = "no answer in time"
        elif request_fault.status is not None:
            response = _denied(request_fault.status)
        elif request_fault.dropped:
            response = "the connection broke"
        else:
            response = self._carry_out(process, request, request_fault)
            if request_fault.lost:
                response = "the answer was lost"
        self.on_request(process, request, response)
        if request_fault.crash == "after":
            self.crash(process)
            return
        self.process.call_later(request_fault.back, _reply, answer, response)

    def _carry_out(self, process: Process, request: ApiRequest, request_fault: RequestFault) -> Response:
        if (
            request_fault.stale
            and request.method == "GET"
            and (stale := self._stale(request, request_fault.stale)) is not None
        ):
            return stale
        response: Response = self.act(process, lambda: self.fake._answer(request))
        return response

    def _stale(self, request: ApiRequest, changes: int) -> Response | None:
        if self.fake._routes.discovery(request.path):
            return None
        route = self.fake._routes.resolve(request.path)
        if route.name:
            return None
        history = self.fake.history
        version = max(history.compacted, history.version - changes)
        selection = route.selection(request.query)
        items = [item for item in history.as_of(version, collection(route.resource)) if selection.matches(item)]
        body = {"kind": f"{route.resource.kind}List", "metadata": {"resourceVersion": str(version)}, "items": items}
        return Response(HTTPStatus.OK, cloned(body))

    def _changed(self, entry: ObjectChange) -> None:
        for watcher in self.watchers.get(entry.address.kind, ()):
            self.offer(watcher, entry)
        for checker in self.observers:
            checker(self.writer, entry)

    def offer(self, watcher: _Watcher, entry: ObjectChange, behind: float = 0.0) -> None:
        """Queue a change for a watcher, with its lag."""
        if not watcher.process.alive or (event := _seen(entry, watcher)) is None:
            return
        due = self.loop.time() + behind + self.fault_policy.lag(watcher.process, entry.address.kind)
        if watcher.pending:
            due = max(due, watcher.pending[-1][0])
        watcher.pending.append((due, event))
        self.process.call_later(due - self.loop.time(), watcher.poke)


class Network:
    """A `torpor_kubernetes.client.transport.Transport` of one process."""

    def __init__(self, server: SimulatedApiServer, process: Process) -> None:
        self._server = server
        self._process = process

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        server, process = self._server, self._process
        request = ApiRequest(method=method, path=path, query=query or {}, body=copied(body))
        answer: asyncio.Future[Response | str] = server.loop.create_future()
        request_fault = server.fault_policy.request_fault(process, request)
        server.process.call_later(request_fault.there, server.arrive, process, request, request_fault, answer)
        response = await answer
        if isinstance(response, str):
            raise errors.Unreachable(f"{method} {path}: {response}")
        return response

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        server, process = self._server, self._process
        request = ApiRequest(method="WATCH", path=path, query=query, body=None)
        opened: asyncio.Future[Response | str] = server.loop.create_future()
        request_fault = server.fault_policy.request_fault(process, request)
        response: Response | str = (
            Response(HTTPStatus.OK, None) if request_fault.status is None else _denied(request_fault.status)
        )
        response = "the connection broke" if request_fault.dropped or request_fault.lost else response
        server.process.call_later(request_fault.there, _reply, opened, response)
        response = await opened
        server.on_request(process, request, response)
        if isinstance(response, str):
            raise errors.Unreachable(f"{path}: {response}")
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise errors.from_response(response)
        async with aclosing(self._events(path, query)) as events:
            async for event in events:
                yield event

    async def _events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        server, loop = self._server, self._server.loop
        route = server.fake._routes.resolve(path)
        watcher, kind = _Watcher(self._process, route.selection(query), route.namespace), collection(route.resource)
        version, history = int(query["resourceVersion"]), server.fake.history
        if version < history.compacted:
            yield {"type": "ERROR", "object": _denied(HTTPStatus.GONE).body}
            return
        behind = server.fault_policy.behind()
        for entry in history.after(version):
            if entry.address.kind == kind:
                server.offer(watcher, entry, behind)
        watchers = server.watchers.setdefault(kind, [])
        watchers.append(watcher)
        seconds = float(query.get("timeoutSeconds", "290"))
        server.process.call_later(max(0.0, seconds - BOOKMARK_SECONDS), self._bookmark, watcher, route.resource)
        server.process.call_later(seconds, self._time_out, watcher)
        try:
            while True:
                while watcher.pending and watcher.pending[0][0] <= loop.time() + 1e-9:
                    event = watcher.pending.popleft()[1]
                    if not self._overtaken(watcher, event):
                        yield event
                if watcher.over:
                    break
                watcher.woken = loop.create_future()
                await watcher.woken
            if watcher.ended:
                raise watcher.ended
        finally:
            watchers.remove(watcher)

    def _overtaken(self, watcher: _Watcher, event: Object) -> bool:
        """Whether the next event concerns the same object, so that this one may be skipped."""
        if not watcher.pending or watcher.pending[0][0] > self._server.loop.time() + 1e-9:
            return False
        after = watcher.pending[0][1]
        if "BOOKMARK" in {event["type"], after["type"]}:
            return False
        same = after["object"]["metadata"]["uid"] == event["object"]["metadata"]["uid"]
        return same and event["type"] == after["type"] == "MODIFIED" and self._server.fault_policy.coalesces()

    def _bookmark(self, watcher: _Watcher, resource: Resource) -> None:
        """Report after all changes up to now that the watch has delivered them, in their order."""
        now = self._server.loop.time()
        due = max([now, *(due for due, _ in watcher.pending)])
        watcher.pending.append((due, bookmark(resource, self._server.fake.history.version)))
        self._server.process.call_later(due - now, watcher.poke)

    @staticmethod
    def _time_out(watcher: _Watcher) -> None:
        watcher.over = True
        watcher.poke()


def _seen(entry: ObjectChange, watcher: _Watcher) -> Object | None:
    if watcher.namespace and entry.address.namespace != watcher.namespace:
        return None
    was = entry.before is not None and watcher.selection.matches(entry.before)
    now = entry.after is not None and watcher.selection.matches(entry.after)
    if now:
        # The history's objects never change, so no copy is needed.
        return {"type": "MODIFIED" if was else "ADDED", "object": entry.after}
    return event_of(entry, watcher.selection) if was else None


def _denied(status: int) -> Response:
    reason = {409: "Conflict", 410: "Expired", 429: "TooManyRequests"}.get(status, "InternalError")
    return Response(status, DeniedError(status, reason, f"a fault: {status}").body)


def _reply(answer: "asyncio.Future[Response | str]", response: Response | str) -> None:
    if not answer.done():
        answer.set_result(response)
