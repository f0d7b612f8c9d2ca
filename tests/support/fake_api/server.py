"""The in-memory API server as a transport: requests, lists in pages, faults, and a test's own hands."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from torpor_api.client import errors
from torpor_api.client.resources import Resource
from torpor_api.client.transport import JSON, Response
from torpor_api.timing import Clock

from tests.support.fake_api.history import History, Object, cloned, collection, copied
from tests.support.fake_api.objects import DeniedError, Objects
from tests.support.fake_api.routes import Routes
from tests.support.fake_api.watches import Watches

REVIEWS = "/selfsubjectaccessreviews"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came; a watch has the method WATCH."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any

    @property
    def is_write(self) -> bool:
        """Whether it changes an object; a review is a question."""
        return self.method in WRITES and not self.path.endswith(REVIEWS)


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

    def fits(self, request: Request) -> bool:
        return self.times > 0 and self.method in {"", request.method} and self.path in request.path

    def answer(self, request: Request) -> Response:
        if self.status is None:
            raise errors.Unreachable(f"{request.method} {request.path}: {self.message}")
        denied = DeniedError(self.status, self.reason, self.message, causes=self.causes)
        return Response(self.status, denied.body, self.retry_after)


class FakeApi:
    """See the package's docstring."""

    def __init__(self, clock: Clock, *, latency: float = 0.0) -> None:
        self.history = History()
        self.objects = Objects(self.history, clock)
        self.requests: list[Request] = []
        self.may_fire: Callable[[str], bool] = lambda _: True
        """Whether a triggerer may fire in a namespace."""
        self.reviews: list[str] = []
        """The namespaces that this was asked of."""
        self.on_write: Callable[[Request], None] = lambda _: None
        self.latency = latency
        self._clock = clock
        self._faults: list[Fault] = []
        self._watches = Watches(self.history, clock)
        self._routes = Routes()
        self._pages: dict[str, tuple[list[Object], int]] = {}

    def serve(self, resource: Resource) -> None:
        """Serve another kind."""
        self._routes.serve(resource)

    def put(self, resource: Resource, body: Object) -> Object:
        """Create an object with the status that it has; its namespace stands in it."""
        namespace = body.get("metadata", {}).get("namespace", "")
        stored = self.objects.create(resource, namespace, body, status=True)
        self._watches.wake()
        return self._copy(stored)

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """An object as it stands."""
        found = self.history.get(Objects.address(resource, namespace, name))
        return None if found is None else self._copy(found)

    def all(self, resource: Resource) -> list[Object]:
        """All of a kind, by namespace and name."""
        return [self._copy(item) for item in self.history.of_kind(collection(resource))]

    def edit(self, resource: Resource, namespace: str, name: str, merge: Object) -> Object:
        """Merge values into an object, status and all; null removes."""
        edited = self.objects.edit(Objects.address(resource, namespace, name), merge)
        self._watches.wake()
        return self._copy(edited)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Let an object be gone, whatever its finalizers; what it alone owns goes too."""
        self.history.drop(Objects.address(resource, namespace, name))
        self.objects.collect_garbage()
        self._watches.wake()

    def writes(self) -> list[Request]:
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
        """Deliver no event until `release_watches`: whoever watches falls behind."""
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
        request = Request(method=method, path=path, query=query or {}, body=copied(body))
        self.requests.append(request)
        await self._clock.sleep(self.latency)
        if request.is_write:
            self.on_write(request)
        fault = self._fault(request)
        if fault and not fault.commit:
            return fault.answer(request)
        response = self._answer(request)
        self._watches.wake()
        await self._clock.sleep(self.latency)
        return fault.answer(request) if fault else response

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        request = Request(method="WATCH", path=path, query=query, body=None)
        self.requests.append(request)
        await self._clock.sleep(self.latency)
        if fault := self._fault(request):
            raise errors.from_response(fault.answer(request))
        try:
            route = self._routes.of(path)
            route.selection(query)
        except DeniedError as denied:
            raise errors.from_response(Response(denied.code, denied.body)) from denied
        async with aclosing(self._watches.open(route, query)) as events:
            async for event in events:
                yield event

    def _fault(self, request: Request) -> Fault | None:
        fault = next((fault for fault in self._faults if fault.fits(request)), None)
        if fault:
            fault.times -= 1
        return fault

    def _answer(self, request: Request) -> Response:
        try:
            body = cloned(self._carry_out(request))
        except DeniedError as denied:
            return Response(denied.code, denied.body)
        return Response(HTTPStatus.CREATED if request.method == "POST" else HTTPStatus.OK, body)

    def _carry_out(self, request: Request) -> Object:
        if request.method == "GET" and (rows := self._routes.discovery(request.path)):
            return {"kind": "APIResourceList", "resources": rows}
        if request.path.endswith(REVIEWS):
            return self._review(request.body)
        route = self._routes.of(request.path)
        address = Objects.address(route.resource, route.namespace, route.name)
        match request.method:
            case "GET" if route.name:
                return self.objects.found(address)
            case "GET":
                return self._list(request)
            case "POST":
                return self.objects.create(route.resource, route.namespace, request.body)
            case "PUT":
                return self.objects.replace(route.resource, address, request.body, route.subresource)
            case "PATCH":
                return self.objects.patch(route.resource, address, request.body, route.subresource)
            case "DELETE":
                return self.objects.delete(address, request.body or {})
            case method:
                raise DeniedError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", f"{method} is not supported")

    def _review(self, asked: Object) -> Object:
        """A question, which writes nothing."""
        self.reviews.append(asked["spec"]["resourceAttributes"]["namespace"])
        return asked | {"status": {"allowed": self.may_fire(self.reviews[-1])}}

    def _list(self, request: Request) -> Object:
        route = self._routes.of(request.path)
        limit = int(request.query.get("limit") or 0)
        if token := request.query.get("continue"):
            if token not in self._pages:
                raise DeniedError(HTTPStatus.GONE, "Expired", "The provided continue parameter is too old")
            items, version = self._pages[token]
        else:
            selection = route.selection(request.query)
            found = self.history.of_kind(collection(route.resource))
            items, version = [item for item in found if selection.matches(item)], self.history.version
        page, rest = (items[:limit], items[limit:]) if limit else (items, [])
        meta = {"resourceVersion": str(version)}
        if rest:
            meta["continue"] = f"page-{len(self._pages)}"
            self._pages[meta["continue"]] = (rest, version)
        return {"kind": f"{route.resource.kind}List", "metadata": meta, "items": page}

    @staticmethod
    def _copy(item: Object) -> Object:
        mine: Object = cloned(item)
        return mine
