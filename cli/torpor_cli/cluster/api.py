"""Typed requests to the API server: get, list, create, patch, delete, and text such as logs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from urllib3.exceptions import HTTPError

from torpor_cli.cluster import errors
from torpor_cli.cluster.http import HttpClient
from torpor_cli.cluster.resources import ApiResource

Object: TypeAlias = dict[str, Any]
PAGE = 500
"""Objects of one response, as kubectl requests them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSelection:
    """Some objects of a resource. `namespace` None means all namespaces."""

    resource: ApiResource
    namespace: str | None = None
    labels: str = ""
    fields: str = ""

    def query(self, **more: str) -> dict[str, str]:
        """Return the parameters of a list or watch."""
        return {
            key: value
            for key, value in {"labelSelector": self.labels, "fieldSelector": self.fields, **more}.items()
            if value
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One response of a list. `version` is the resourceVersion to watch from."""

    items: list[Object]
    version: str
    last: bool


class ApiClient:
    """The API server. Every method raises `cluster.errors.ClusterError`, whose message is for the user."""

    def __init__(self, http: HttpClient) -> None:
        self.http = http

    def get(self, resource: ApiResource, namespace: str | None, name: str) -> Object:
        """Return an object. Raises NotFoundError."""
        found: Object = self.http.json("GET", resource.path(namespace, name))
        return found

    def pages(self, selection: ObjectSelection, *, size: int = PAGE) -> Iterator[ListPage]:
        """List objects page by page. A list that takes too long (410) starts again, so an object may appear twice."""
        token = ""
        while True:
            try:
                body = self._page(selection, token, size)
            except errors.GoneError:
                if not token:
                    raise
                token = ""
                continue
            metadata = body.get("metadata") or {}
            token = metadata.get("continue") or ""
            items = body.get("items") or []
            for item in items:
                item.setdefault("apiVersion", selection.resource.api_version)
                item.setdefault("kind", selection.resource.kind)
            yield ListPage(items=items, version=metadata.get("resourceVersion") or "", last=not token)
            if not token:
                return

    def list(self, selection: ObjectSelection) -> list[Object]:
        """Return all objects of a selection, each once."""
        found: dict[str, Object] = {}
        for page in self.pages(selection):
            found.update((item["metadata"]["uid"], item) for item in page.items)
        return list(found.values())

    def create(
        self, resource: ApiResource, namespace: str | None, body: Mapping[str, Any], *, dry_run: bool = False
    ) -> Object:
        """Create an object and return it as stored."""
        query = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        made: Object = self.http.json("POST", resource.path(namespace), body=body, query=query)
        return made

    def patch(
        self, resource: ApiResource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> Object:
        """Apply a JSON Patch and return the object. Raises ConflictError if a `test` fails."""
        headers = {"Content-Type": "application/json-patch+json"}
        made: Object = self.http.json("PATCH", resource.path(namespace, name), body=list(operations), headers=headers)
        return made

    def delete(self, resource: ApiResource, namespace: str | None, name: str, *, uid: str | None = None) -> None:
        """Delete an object, only the one with this uid if it is given."""
        body = {"preconditions": {"uid": uid}} if uid else None
        self.http.json("DELETE", resource.path(namespace, name), body=body)

    def text(
        self, path: str, *, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> str:
        """Return a response as text. Undecodable bytes become U+FFFD."""
        return b"".join(self.stream(path, query=query, headers=headers)).decode(errors="replace")

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout: float = 3600.0,
    ) -> Iterator[bytes]:
        """Return the bytes of a response as they arrive, for example of `pods/log` with `follow`."""
        merged = {"Accept": "*/*", **(headers or {})}
        response = self.http.request("GET", path, query=query, headers=merged, read_timeout=read_timeout)
        try:
            while chunk := response.read1(65_536):
                yield chunk
        except HTTPError as error:
            raise self.http.unreachable(error) from error
        finally:
            response.close()

    def lines(self, path: str, **parts: Any) -> Iterator[bytes]:
        """Return the lines of a response as they arrive, without their ends."""
        rest = b""
        for chunk in self.stream(path, **parts):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
        if rest:
            yield rest

    def _page(self, selection: ObjectSelection, token: str, size: int) -> Object:
        query = selection.query(limit=str(size), **{"continue": token})
        body: Object = self.http.json("GET", selection.resource.path(selection.namespace), query=query)
        return body


def parse_object(line: bytes) -> Object | None:
    """Return the object of a JSON line, None for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
