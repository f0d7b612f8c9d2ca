"""Which namespace a name means now. A namespace that is deleted and created again is another one, with another uid.

The lookup is cached for less time than Kubernetes takes to delete a namespace, and never while the namespace is being
deleted. So a cached uid is always the current one.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cachetools import TTLCache
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource

from torpor_archive.errors import RefusedError, unavailable

NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
CACHE_SECONDS = 3.0
"""The namespace controller starts five seconds after the request for a deletion."""
CACHE_ENTRIES = 4096
UNKNOWN = ""
"""The uid in rows of earlier releases, and in those whose namespace was gone. Requests do not read them."""
ABSENT = "-"
"""The uid of a namespace that does not exist. No row has it."""


class NamespaceId(NamedTuple):
    """The identity of a namespace."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace that exists. `created` is its creationTimestamp."""

    id: NamespaceId
    created: str

    def contains(self, created: str) -> bool:
        """Return whether an object with this creationTimestamp belongs to it, and not to an earlier one of its name.

        Both times are the API server's, in RFC 3339 with seconds, and sort as text.
        """
        return created >= self.created


class NamespaceFinder(Protocol):
    """Says which namespace a name means. `ClusterNamespaces` asks the API server."""

    async def current(self, name: str) -> NamespaceId:
        """Return the identity that rows must have to be read. Raises RefusedError (503)."""

    async def of_object(self, name: str, created: str) -> NamespaceId:
        """Return the identity for rows about an object with this creationTimestamp. Raises RefusedError (503)."""


class ClusterNamespaces:
    """The namespaces of the cluster, as the API server has them."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._cache: TTLCache[str, Namespace] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, api.clock.monotonic)

    async def find(self, name: str) -> Namespace | None:
        """Return the namespace that has the name now, if any. Raises RefusedError (503)."""
        if (cached := self._cache.get(name)) is not None:
            return cached
        try:
            metadata = (await self._api.get(NAMESPACES, None, name))["metadata"]
        except (errors.NotFound, ValueError):
            return None
        except errors.ApiError as error:
            message = f"cannot read namespace {name} from the API server: {error.message[:200]}"
            raise RefusedError(unavailable("ApiUnavailable", message)) from error
        namespace = Namespace(id=NamespaceId(name, metadata["uid"]), created=metadata["creationTimestamp"])
        if "deletionTimestamp" not in metadata:
            self._cache[name] = namespace
        return namespace

    async def current(self, name: str) -> NamespaceId:
        """Return the identity that rows must have to be read. Raises RefusedError (503)."""
        namespace = await self.find(name)
        return namespace.id if namespace is not None else NamespaceId(name, ABSENT)

    async def of_object(self, name: str, created: str) -> NamespaceId:
        """Return the identity for rows about an object with this creationTimestamp. Raises RefusedError (503)."""
        namespace = await self.find(name)
        return namespace.id if namespace is not None and namespace.contains(created) else NamespaceId(name, UNKNOWN)
