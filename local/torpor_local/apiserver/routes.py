"""From paths to kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from torpor_kubernetes.client.resources import (
    BACKFILLS,
    CLAIMS,
    CLUSTER_TEMPLATES,
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PODS,
    SCHEDULES,
    TASKRUNS,
    TEMPLATES,
    WORKFLOWS,
    Resource,
)

from torpor_local.apiserver.history import Object
from torpor_local.apiserver.objects import DeniedError, missing
from torpor_local.apiserver.selection import ListQuery, SelectorError


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a path means; name and subresource are empty for a collection."""

    resource: Resource
    namespace: str
    name: str
    subresource: str

    def selection(self, query: Mapping[str, str]) -> ListQuery:
        """Which objects a list or watch is about."""
        selection = ListQuery(self.namespace, query.get("fieldSelector", ""), query.get("labelSelector", ""))
        try:
            selection.check(self.resource.plural)
        except SelectorError as error:
            raise DeniedError(HTTPStatus.BAD_REQUEST, "BadRequest", str(error)) from error
        return selection


class ResourceRoutes:
    """The kinds that are served."""

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        own = (WORKFLOWS, TASKRUNS, TEMPLATES, CLUSTER_TEMPLATES, SCHEDULES, BACKFILLS)
        for resource in (*own, PODS, CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, CLAIMS):
            self.serve(resource)

    def serve(self, resource: Resource) -> None:
        """Serve another kind."""
        self._resources[resource.path()] = resource

    def resolve(self, path: str) -> Route:
        """Return the meaning of a path. Raises DeniedError if it is not served."""
        words = path.strip("/").split("/")
        size = 2 if words[0] == "api" else 3
        root, rest = words[:size], words[size:]
        namespace = ""
        if rest[2:] and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        resource = self._resources.get("/" + "/".join([*root, *rest[:1]]))
        if resource is None:
            raise missing(path)
        name, subresource, *_ = [*rest[1:], "", ""]
        return Route(resource=resource, namespace=namespace, name=name, subresource=subresource)

    def discovery(self, path: str) -> list[Object]:
        """The kinds of the apiVersion at this path, if it is one."""
        served = [resource for collection, resource in self._resources.items() if collection.rpartition("/")[0] == path]
        return [{"name": each.plural, "kind": each.kind, "namespaced": each.namespaced} for each in served]
