"""Typed requests to the API server: get, list, create, patch and delete."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torpor_cli.cluster import errors, http
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

    @classmethod
    def named(cls, resource: ApiResource, namespace: str, name: str) -> "ObjectSelection":
        """Return the selection of one object, for a watch."""
        return cls(resource=resource, namespace=namespace, fields=f"metadata.name={name}")

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


class ApiClient:
    """The API server. Every method raises `cluster.errors.ClusterError`, whose message is for the user."""

    def __init__(self, client: HttpClient) -> None:
        self.http = client

    def get(self, resource: ApiResource, namespace: str | None, name: str) -> Object:
        """Return an object. Raises NotFoundError."""
        item: Object = self.http.json("GET", resource.path(namespace, name))
        return item

    def pages(self, selection: ObjectSelection, *, size: int = PAGE) -> Iterator[ListPage]:
        """List objects page by page. A list that takes too long (410) starts again, so an object may appear twice."""
        path, query = selection.resource.path(selection.namespace), selection.query(limit=str(size))
        while True:
            begun = False
            try:
                for body in http.pages(lambda more: self.http.json("GET", path, query={**query, **more})):
                    begun = True
                    yield _parse_page(body, selection.resource)
            except errors.GoneError:
                if not begun:
                    raise
            else:
                return

    def snapshot(self, selection: ObjectSelection) -> ListPage:
        """Return all objects of a selection as one page, each once."""
        items: dict[str, Object] = {}
        version = ""
        for page in self.pages(selection):
            items.update((item["metadata"]["uid"], item) for item in page.items)
            version = page.version
        return ListPage(items=list(items.values()), version=version)

    def list(self, selection: ObjectSelection) -> list[Object]:
        """Return all objects of a selection, each once."""
        return self.snapshot(selection).items

    def create(
        self, resource: ApiResource, namespace: str | None, body: Mapping[str, Any], *, dry_run: bool = False
    ) -> Object:
        """Create an object and return it as stored."""
        query = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        created: Object = self.http.json("POST", resource.path(namespace), body=body, query=query)
        return created

    def patch(
        self, resource: ApiResource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> Object:
        """Apply a JSON Patch and return the object. Raises ConflictError if a `test` fails."""
        headers = {"Content-Type": "application/json-patch+json"}
        patched: Object = self.http.json(
            "PATCH", resource.path(namespace, name), body=list(operations), headers=headers
        )
        return patched

    def delete(self, resource: ApiResource, namespace: str | None, name: str, *, uid: str | None = None) -> None:
        """Delete an object, only the one with this uid if it is given."""
        body = {"preconditions": {"uid": uid}} if uid else None
        self.http.json("DELETE", resource.path(namespace, name), body=body)


def _parse_page(body: Mapping[str, Any], resource: ApiResource) -> ListPage:
    """Return the page of a list, whose items get the fields that a list leaves out."""
    items = body.get("items") or []
    for item in items:
        item.setdefault("apiVersion", resource.api_version)
        item.setdefault("kind", resource.kind)
    return ListPage(items=items, version=(body.get("metadata") or {}).get("resourceVersion") or "")


def parse_object(line: bytes) -> Object | None:
    """Return the object of a JSON line, None for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
