"""Finds the resource for an `apiVersion` and a `kind`.

The Api caches what it found for the life of the process. A missing kind is queried again, because its CRD may be
installed at any time.
"""

from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource, group_path


async def resolve(api: Api, api_version: str, kind: str) -> Resource:
    """Return the resource of a kind. Raises `errors.NotFound`, with advice, if the server has none."""
    resource = api.discovered.get((api_version, kind))
    if resource is None:
        resource = await _query(api, api_version, kind)
        api.discovered[api_version, kind] = resource
    return resource


async def _query(api: Api, api_version: str, kind: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    try:
        served = await api.read(group_path(api_version))
    except (errors.NotFound, ValueError) as exc:
        raise errors.NotFound(f"the cluster serves no apiVersion {api_version!r}: is its CRD installed?") from exc
    rows = served.get("resources") or [] if isinstance(served, dict) else []
    for row in rows:
        if row.get("kind") == kind and "/" not in row["name"]:
            return _resource(group, version, row)
    kinds = sorted({row["kind"] for row in rows if "/" not in row["name"]})
    raise errors.NotFound(f"apiVersion {api_version!r} has no kind {kind!r}; it has {', '.join(kinds) or 'none'}")


def _resource(group: str, version: str, row: dict[str, Any]) -> Resource:
    return Resource(
        group=group, version=version, plural=row["name"], kind=row["kind"], namespaced=bool(row["namespaced"])
    )
