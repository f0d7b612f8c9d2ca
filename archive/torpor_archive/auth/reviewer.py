"""Sends reviews to the API server. A review changes nothing, so a retry is safe."""

from collections.abc import Mapping
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource

from torpor_archive import errors as refusal
from torpor_archive.errors import RefusedError

PAUSES = (0.2, 0.5, 1.0)
"""Seconds before each retry."""


async def review(api: Api, resource: Resource, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of a review. Raises RefusedError (503)."""
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    for pause in PAUSES:
        try:
            return (await api.create(resource, None, body)).get("status") or {}
        except errors.ApiUnavailable as error:
            await api.clock.sleep(error.retry_after or pause)
        except errors.ApiError as error:
            raise RefusedError(unavailable(error)) from error
    try:
        return (await api.create(resource, None, body)).get("status") or {}
    except errors.ApiError as error:
        raise RefusedError(unavailable(error)) from error


def unavailable(error: errors.ApiError) -> refusal.ErrorResponse:
    """Build the refusal of a request that needs the API server."""
    return refusal.unavailable("ApiUnavailable", f"cannot reach the API server to check access: {error.message[:200]}")
