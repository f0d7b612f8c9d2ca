"""Reports Workflows to the operator's cache by list and watch, as kopf does in a cluster.

Like kopf it never reports what vanished while no watch was open; the operator's resync finds that.
"""

from contextlib import aclosing
from typing import Never

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_operator.app import Stop
from torpor_operator.controller.cluster_cache import ClusterCache


async def watch_workflows(api: Api, cluster: ClusterCache, stop: Stop) -> Never:  # noqa: ARG001 - kopf needs it
    """Report every Workflow and each of its changes, forever."""
    while True:
        try:
            page = await api.list(WORKFLOWS)
            for body in page.items:
                cluster.store_workflow(body)
            version = page.resource_version
            while True:
                version = await _watch(api, cluster, version)
        except errors.ApiError:
            await api.clock.sleep(0.5 + api.jitter())


async def _watch(api: Api, cluster: ClusterCache, version: str) -> str:
    async with aclosing(api.watch(WORKFLOWS, resource_version=version)) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                cluster.store_workflow(event.object, deleted=event.type == "DELETED")
            version = event.object["metadata"]["resourceVersion"]
    return version
