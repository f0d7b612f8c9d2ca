"""The verbs of the Kubernetes API over a transport, with errors as types.

Reads are repeated, within bounds, while the server is unavailable. Writes never are: after an unclear answer only the
caller knows how to find out whether the write was carried out.
"""

import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, NamedTuple

from torpor_wire import constants
from torpor_wire.backoff import Backoff

from torpor_api.client import errors
from torpor_api.client.resources import Resource
from torpor_api.client.transport import JSON, JSON_PATCH, Response, Transport
from torpor_api.timing import Clock

Object = dict[str, Any]

PAGE = 500
PAGE_DIVISOR = 8
READ_TRIES = 4
READ_BACKOFF = Backoff(first=0.4, cap=1.6, jitter=1.0)
WATCH_SECONDS = 290


class Page(NamedTuple):
    """Objects of one list, and the resourceVersion that the whole list is of."""

    items: list[Object]
    resource_version: str


class WatchEvent(NamedTuple):
    """ADDED, MODIFIED, DELETED, or BOOKMARK (whose object has a resourceVersion and nothing else)."""

    type: str
    object: Object


class Api:
    """Typed verbs; every one raises `errors.ApiError`."""

    def __init__(self, transport: Transport, clock: Clock, *, jitter: Callable[[], float] = random.random) -> None:
        self.transport = transport
        self.clock = clock
        self.discovered: dict[tuple[str, str], Resource] = {}
        self.jitter = jitter

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """GET any path; repeated while the server is unavailable, `READ_TRIES` times at most."""
        for attempt in range(1, READ_TRIES):
            try:
                return _body(await self.transport.request("GET", path, query=query))
            except errors.Unavailable as error:
                await self.clock.sleep(max(error.retry_after or 0.0, READ_BACKOFF.delay(attempt, self.jitter())))
        return _body(await self.transport.request("GET", path, query=query))

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """One object."""
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
        """A list page by page, all of one resourceVersion; `limit` 0 is one page.

        Pages become shorter where `limit` objects do not fit into one answer. Raises `errors.TooLarge` where one
        object, or a list without a limit, does not fit. Raises `errors.Gone` where the server has compacted that
        version between two pages: what was yielded until then is no whole list.
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

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        field_selector: str = "",
        label_selector: str = "",
        limit: int = PAGE,
    ) -> Page:
        """All objects as one page, read `limit` at a time, or at once where the pages cannot be finished."""
        try:
            return await self._whole(resource, namespace, field_selector, label_selector, limit)
        except errors.Gone:
            return await self._whole(resource, namespace, field_selector, label_selector, 0)

    async def _whole(
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

    async def create(self, resource: Resource, namespace: str | None, body: Mapping[str, Any]) -> Object:
        """POST one object and return it as stored."""
        return await self._write("POST", resource.path(namespace), body)

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Mapping[str, Any],
        *,
        subresource: str | None = None,
    ) -> Object:
        """PUT one object; where the body has a resourceVersion, `errors.Conflict` if it is no longer that one."""
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
        """A JSON Patch, all or nothing; `errors.LostRace` where a `test` in it does not hold."""
        return await self._write(
            "PATCH",
            resource.path(namespace, name, subresource),
            list(ops),
            JSON_PATCH,
            query={"fieldManager": constants.FIELD_MANAGER},
        )

    async def delete(  # noqa: PLR0913 - the options of the API's own verb
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Delete one object; that there is none is success. With `uid`, `errors.Conflict` if another has its name."""
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        response = await self.transport.request("DELETE", resource.path(namespace, name), body=options)
        if response.status != HTTPStatus.NOT_FOUND:
            _body(response)

    async def watch(  # noqa: PLR0913 - the options of the API's own verb
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        field_selector: str = "",
        label_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after a resourceVersion, until the server ends the watch.

        Raises `errors.Gone` where that version is too old, be it the answer or an ERROR event in the stream.
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
                found = _object(event.get("object"))
                if event.get("type") == "ERROR":
                    raise errors.of_status(found)
                yield WatchEvent(str(event.get("type")), found)

    async def _write(
        self, method: str, path: str, body: object, content_type: str = JSON, query: Mapping[str, str] | None = None
    ) -> Object:
        answer = await self.transport.request(method, path, query=query, body=body, content_type=content_type)
        return _object(_body(answer))


def _selectors(field_selector: str, label_selector: str) -> dict[str, str]:
    given = {"fieldSelector": field_selector, "labelSelector": label_selector}
    return {key: value for key, value in given.items() if value}


def _body(response: Response) -> Any:
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise errors.of(response)
    return response.body


def _object(body: Any) -> Object:
    if not isinstance(body, dict):
        raise errors.ApiError(f"the API server sent {type(body).__name__} where an object was due")
    return body
