"""The API server in memory, as a `Transport`: requests, lists in pages, and watches."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.transport import JSON, Response
from torpor_kubernetes.timing import Clock

from torpor_local.apiserver.history import History, Object, cloned, collection, copied
from torpor_local.apiserver.objects import DeniedError, ObjectRegistry
from torpor_local.apiserver.routes import ResourceRoutes
from torpor_local.apiserver.watches import ObjectWatches

REVIEWS = "/selfsubjectaccessreviews"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request. A watch has the method WATCH."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any

    @property
    def is_write(self) -> bool:
        """Whether it changes an object. A review writes nothing."""
        return self.method in WRITES and not self.path.endswith(REVIEWS)


class ApiServer:
    """Serves the kinds of Torpor, and the kinds of Kubernetes that its components use, from memory."""

    def __init__(self, clock: Clock) -> None:
        self.history = History()
        self.objects = ObjectRegistry(self.history, clock)
        self.may_fire: Callable[[str], bool] = lambda _: True
        """Whether a triggerer may fire in a namespace."""
        self.reviews: list[str] = []
        """The namespaces for which that was requested."""
        self._watches = ObjectWatches(self.history, clock)
        self._routes = ResourceRoutes()
        self._pages: dict[str, tuple[list[Object], int]] = {}

    def serve(self, resource: Resource) -> None:
        """Serve another kind."""
        self._routes.serve(resource)

    def put(self, resource: Resource, body: Object) -> Object:
        """Create an object with its status, in the namespace of its metadata."""
        namespace = body.get("metadata", {}).get("namespace", "")
        stored = self.objects.create(resource, namespace, body, status=True)
        self._watches.wake()
        return self._copy(stored)

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return an object, None if there is none."""
        item = self.history.get(ObjectRegistry.address(resource, namespace, name))
        return None if item is None else self._copy(item)

    def all(self, resource: Resource) -> list[Object]:
        """Return all objects of a kind, by namespace and name."""
        return [self._copy(item) for item in self.history.of_kind(collection(resource))]

    def edit(self, resource: Resource, namespace: str, name: str, merge: Object) -> Object:
        """Merge values into an object and its status; null removes."""
        edited = self.objects.edit(ObjectRegistry.address(resource, namespace, name), merge)
        self._watches.wake()
        return self._copy(edited)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Remove an object in spite of finalizers, and what it alone owns."""
        self.history.drop(ObjectRegistry.address(resource, namespace, name))
        self.objects.collect_garbage()
        self._watches.wake()

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        """Create an object as a client would. Raises DeniedError."""
        stored = self.objects.create(resource, namespace, body)
        self._watches.wake()
        return self._copy(stored)

    def delete(self, resource: Resource, namespace: str, name: str, options: Mapping[str, Any]) -> None:
        """Delete an object as a client would. Raises DeniedError."""
        self.objects.delete(ObjectRegistry.address(resource, namespace, name), options)
        self._watches.wake()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,  # noqa: ARG002 - JSON Patch is the only patch
    ) -> Response:
        """Carry out one request."""
        return self.respond(ApiRequest(method=method, path=path, query=query or {}, body=copied(body)))

    def respond(self, request: ApiRequest) -> Response:
        """Carry out one request and report its changes to the watches."""
        response = self._answer(request)
        self._watches.wake()
        return response

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the events of a watch. Raises errors.ApiError for a path or a selector that is not served."""
        try:
            route = self._routes.resolve(path)
            route.selection(query)
        except DeniedError as denied:
            raise errors.from_response(Response(denied.code, denied.body)) from denied
        async with aclosing(self._watches.open(route, query)) as events:
            async for event in events:
                yield event

    def _answer(self, request: ApiRequest) -> Response:
        try:
            body = cloned(self._carry_out(request))
        except DeniedError as denied:
            return Response(denied.code, denied.body)
        return Response(HTTPStatus.CREATED if request.method == "POST" else HTTPStatus.OK, body)

    def _carry_out(self, request: ApiRequest) -> Object:
        if request.method == "GET" and (rows := self._routes.discovery(request.path)):
            return {"kind": "APIResourceList", "resources": rows}
        if request.path.endswith(REVIEWS):
            return self._review(request.body)
        route = self._routes.resolve(request.path)
        address = ObjectRegistry.address(route.resource, route.namespace, route.name)
        match request.method:
            case "GET" if route.name:
                return self.objects.existing(address)
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

    def _review(self, review: Object) -> Object:
        """Answer a review, which writes nothing."""
        self.reviews.append(review["spec"]["resourceAttributes"]["namespace"])
        return review | {"status": {"allowed": self.may_fire(self.reviews[-1])}}

    def _list(self, request: ApiRequest) -> Object:
        route = self._routes.resolve(request.path)
        limit = int(request.query.get("limit") or 0)
        if token := request.query.get("continue"):
            if token not in self._pages:
                raise DeniedError(HTTPStatus.GONE, "Expired", "The provided continue parameter is too old")
            items, version = self._pages[token]
        else:
            selection = route.selection(request.query)
            stored = self.history.of_kind(collection(route.resource))
            items, version = [item for item in stored if selection.matches(item)], self.history.version
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
