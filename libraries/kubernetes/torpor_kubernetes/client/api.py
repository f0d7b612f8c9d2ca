"""The verbs of the Kubernetes API over a transport, with typed errors.

Reads are retried for a bounded time while the server is unavailable. Writes are not: after an ambiguous failure only
the caller can find out whether the write happened.
"""

import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, NamedTuple

from torpor_wire import constants
from torpor_wire.retry import Backoff

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource, group_path
from torpor_kubernetes.client.transport import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Response, Transport
from torpor_kubernetes.timing import Clock

Object = dict[str, Any]

PAGE = 500
PAGE_DIVISOR = 8
READ_TRIES = 4
READ_BACKOFF = Backoff(first=0.4, cap=1.6, jitter=1.0)
WATCH_SECONDS = 290


class Page(NamedTuple):
    """A page of a list, and the list's resourceVersion."""

    items: list[Object]
    resource_version: str


class WatchEvent(NamedTuple):
    """ADDED, MODIFIED, DELETED, or BOOKMARK, whose object contains a resourceVersion only."""

    type: str
    object: Object


class Api:
    """The API's verbs. Each raises `errors.ApiError`."""

    def __init__(self, transport: Transport, clock: Clock, *, jitter: Callable[[], float] = random.random) -> None:
        self.transport = transport
        self.clock = clock
        self._resources: dict[tuple[str, str], Resource] = {}
        self.jitter = jitter

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """GET any path, up to `READ_TRIES` times while the server is unavailable."""
        for attempt in range(1, READ_TRIES):
            try:
                return _body(await self.transport.request("GET", path, query=query))
            except errors.ApiUnavailable as error:
                await self.clock.sleep(max(error.retry_after or 0.0, READ_BACKOFF.delay(attempt, self.jitter())))
        return _body(await self.transport.request("GET", path, query=query))

    async def discover(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind. Raises `errors.NotFound`, with advice, if the server has none.

        It is cached for the life of the process. A missing kind is queried again: its CRD may be installed at any time.
        """
        resource = self._resources.get((api_version, kind))
        if resource is None:
            resource = self._resources[api_version, kind] = await self._query(api_version, kind)
        return resource

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """Read one object."""
        return _object(await self.read(resource.path(namespace, name)))

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        field_selector: str = "",
        label_selector: str = "",
        limit: int = PAGE,
    ) -> AsyncGenerator[Page, None]:
        """Read a list in pages of one resourceVersion. With `limit` 0 it is a single page.

        Pages become shorter if `limit` objects do not fit into a response. Raises `errors.TooLarge` if one object, or a
        list without a limit, does not fit. Raises `errors.Gone` if the server compacts the version between two pages;
        the pages yielded so far are then incomplete.
        """
        query = _selectors(field_selector, label_selector)
        if limit:
            query["limit"] = str(limit)
        while True:
            try:
                body = _object(await self.read(resource.path(namespace), query))
            except errors.TooLarge:
                if limit <= 1:
                    raise
                limit = max(1, limit // PAGE_DIVISOR)
                query["limit"] = str(limit)
                continue
            meta = body.get("metadata") or {}
            yield Page(body.get("items") or [], str(meta.get("resourceVersion") or ""))
            if not meta.get("continue"):
                return
            query["continue"] = str(meta["continue"])

    async def pages_in(self, resource: Resource, namespaces: Sequence[str] = ()) -> AsyncGenerator[Page, None]:
        """Read the pages of each of these namespaces, or of all without any. Raises as `pages` does."""
        for namespace in namespaces or (None,):
            async with aclosing(self.pages(resource, namespace)) as pages:
                async for page in pages:
                    yield page

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        field_selector: str = "",
        label_selector: str = "",
        limit: int = PAGE,
    ) -> Page:
        """Read all objects, `limit` at a time; in one response if the version is compacted between pages."""
        try:
            return await self._list_pages(resource, namespace, field_selector, label_selector, limit)
        except errors.Gone:
            return await self._list_pages(resource, namespace, field_selector, label_selector, 0)

    async def _list_pages(
        self, resource: Resource, namespace: str | None, field_selector: str, label_selector: str, limit: int
    ) -> Page:
        items: list[Object] = []
        version = ""
        pages = self.pages(
            resource, namespace, field_selector=field_selector, label_selector=label_selector, limit=limit
        )
        async with aclosing(pages):
            async for page in pages:
                items += page.items
                version = page.resource_version
        return Page(items, version)

    async def create(
        self, resource: Resource, namespace: str | None, body: Mapping[str, Any], *, dry_run: bool = False
    ) -> Object:
        """POST one object and return it as stored, or as it would be with `dry_run`."""
        query = {"dryRun": "All"} if dry_run else None
        return await self._write("POST", resource.path(namespace), body, query=query)

    async def create_in(
        self, resource: Resource, namespace: str, name: str, subresource: str, body: Mapping[str, Any]
    ) -> Object:
        """POST to a subresource of one object, such as a request for a token, and return the answer."""
        return await self._write("POST", resource.path(namespace, name, subresource), body)

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Mapping[str, Any],
        *,
        subresource: str | None = None,
    ) -> Object:
        """PUT one object. Raises `errors.Conflict` if the body has an outdated resourceVersion."""
        return await self._write("PUT", resource.path(namespace, name, subresource), body)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        ops: Sequence[Mapping[str, Any]],
        *,
        subresource: str | None = None,
    ) -> Object:
        """Apply a JSON Patch atomically. Raises `errors.LostRace` if a `test` in it fails."""
        return await self._write(
            "PATCH",
            resource.path(namespace, name, subresource),
            list(ops),
            JSON_PATCH,
            query={"fieldManager": constants.FIELD_MANAGER},
        )

    async def merge(self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any]) -> Object:
        """Apply a JSON Merge Patch to one object."""
        query = {"fieldManager": constants.FIELD_MANAGER}
        return await self._write("PATCH", resource.path(namespace, name), body, MERGE_PATCH, query=query)

    async def apply(
        self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any], *, manager: str
    ) -> Object:
        """Create or change one object by server-side apply. Raises `errors.Conflict` for fields of others."""
        query = {"fieldManager": manager, "force": "false"}
        return await self._write("PATCH", resource.path(namespace, name), body, APPLY_PATCH, query=query)

    async def delete(  # noqa: PLR0913 - the options of the API
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Delete one object if it exists.

        With `uid`, raises `errors.Conflict` if another object has its name; with `resource_version`, if it has changed.
        """
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        pinned = {"uid": uid, "resourceVersion": resource_version}
        if preconditions := {name: value for name, value in pinned.items() if value is not None}:
            options["preconditions"] = preconditions
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        response = await self.transport.request("DELETE", resource.path(namespace, name), body=options)
        if response.status != HTTPStatus.NOT_FOUND:
            _body(response)

    async def watch(  # noqa: PLR0913 - the options of the API
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        field_selector: str = "",
        label_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes after a resourceVersion until the server ends the watch.

        Raises `errors.Gone` if that version is too old, in the response or as an ERROR event.
        """
        query = _selectors(field_selector, label_selector) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        stream = self.transport.stream(resource.path(namespace), query=query)
        async with aclosing(stream):
            async for event in stream:
                body = _object(event.get("object"))
                if event.get("type") == "ERROR":
                    raise errors.from_status(body)
                yield WatchEvent(str(event.get("type")), body)

    async def _write(
        self, method: str, path: str, body: object, content_type: str = JSON, query: Mapping[str, str] | None = None
    ) -> Object:
        response = await self.transport.request(method, path, query=query, body=body, content_type=content_type)
        return _object(_body(response))

    async def _query(self, api_version: str, kind: str) -> Resource:
        group, _, version = api_version.rpartition("/")
        try:
            served = await self.read(group_path(api_version))
        except (errors.NotFound, ValueError) as exc:
            raise errors.NotFound(f"the cluster serves no apiVersion {api_version!r}: is its CRD installed?") from exc
        rows = served.get("resources") or [] if isinstance(served, dict) else []
        for row in rows:
            if row.get("kind") == kind and "/" not in row["name"]:
                return _resource(group, version, row)
        kinds = sorted({row["kind"] for row in rows if "/" not in row["name"]})
        raise errors.NotFound(f"apiVersion {api_version!r} has no kind {kind!r}; it has {', '.join(kinds) or 'none'}")


def _selectors(field_selector: str, label_selector: str) -> dict[str, str]:
    selectors = {"fieldSelector": field_selector, "labelSelector": label_selector}
    return {key: value for key, value in selectors.items() if value}


def _body(response: Response) -> Any:
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise errors.from_response(response)
    return response.body


def _object(body: Any) -> Object:
    if not isinstance(body, dict):
        raise errors.ApiError(f"the API server sent {type(body).__name__} instead of an object")
    return body


def _resource(group: str, version: str, row: dict[str, Any]) -> Resource:
    return Resource(
        group=group, version=version, plural=row["name"], kind=row["kind"], namespaced=bool(row["namespaced"])
    )
