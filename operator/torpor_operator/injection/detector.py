"""Finds out whether the cluster supports image volumes: it asks the API server, and reads the versions of the nodes.

The API server is asked by the creation of a pod that is not stored (dry run), in a namespace with Workflows, since the
operator may create pods nowhere else. An outdated answer does no harm where nodes only get newer.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Any, Never

from torpor_crds.models.pod_fields import PodFields
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import NODES, PODS

from torpor_operator import pod_security
from torpor_operator.injection.decision import Decision, Evidence, Node, decide
from torpor_operator.settings import Injection, Settings

_LOG = logging.getLogger(__name__)
_PAUSE = 5.0
"""Seconds between two checks until the API server has answered."""
_INTERVAL = 600.0
_TRIES = 5
"""Namespaces that are tried in one check."""
_NODES_PER_PAGE = 50
"""A node has up to 50 kB, most of it the list of its images."""


class ImageVolumes:
    """Whether pods get image volumes. `namespaces` returns the namespaces with Workflows."""

    def __init__(self, api: Api, settings: Settings, *, namespaces: Callable[[], Collection[str]]) -> None:
        self._api = api
        self._settings = settings
        self._namespaces = namespaces
        self._decision = decide(settings.runtime_injection, Evidence())
        _LOG.info("%s", describe(self._decision))

    def supported(self) -> bool:
        """The decision at the moment."""
        return self._decision.image_volumes

    async def run(self) -> None:
        """Check the cluster, forever; only with `auto`."""
        if self._settings.runtime_injection is Injection.AUTO:
            await self._watch()

    async def _watch(self) -> Never:
        refused = 0
        while True:
            pause = min(_PAUSE * 2**refused, _INTERVAL)
            try:
                evidence = await self._evidence()
            except errors.ApiError as error:
                _LOG.warning("cannot find out whether nodes support image volumes: %s", error.message)
            except Exception:  # noqa: BLE001 - a task boundary: an answer that cannot be read never ends the operator
                _LOG.exception("cannot find out whether nodes support image volumes")
                pause = _INTERVAL
            else:
                refused = refused + 1 if evidence.accepted is None and self._namespaces() else 0
                pause = pause if evidence.accepted is None else _INTERVAL
                self._update(decide(self._settings.runtime_injection, evidence))
            await self._api.clock.sleep(pause)

    def _update(self, decision: Decision) -> None:
        if decision != self._decision:
            _LOG.info("%s", describe(decision))
        self._decision = decision

    async def _evidence(self) -> Evidence:
        refusal = Evidence().refusal
        for namespace in sorted(self._namespaces())[:_TRIES]:
            try:
                stored = await self._api.create(PODS, namespace, probe(namespace, self._settings), dry_run=True)
            except errors.ApiUnavailable:
                raise
            except errors.ApiError as error:
                refusal = f"namespace {namespace}: {error.message}"
                continue
            accepted = any("image" in volume for volume in stored["spec"].get("volumes", []))
            return await self._of_nodes() if accepted else Evidence(accepted=False)
        return Evidence(refusal=refusal)

    async def _of_nodes(self) -> Evidence:
        version = await self._api.read("/version")
        nodes: list[Node] = []
        async with aclosing(self._api.pages(NODES, limit=_NODES_PER_PAGE)) as pages:
            async for page in pages:
                nodes += [parse_node(body) for body in page.items]
        return Evidence(accepted=True, server=str(version.get("gitVersion", "")), nodes=nodes)


def describe(decision: Decision) -> str:
    """The decision as a line of the log."""
    way = "an image volume" if decision.image_volumes else "an init container"
    return f"the runtime of python tasks gets into pods by {way}: {decision.reason}"


def parse_node(body: Object) -> Node:
    """A Node from the API server's JSON."""
    info = body.get("status", {}).get("nodeInfo", {})
    return Node(
        name=body["metadata"]["name"],
        runtime=info.get("containerRuntimeVersion", ""),
        kubelet=info.get("kubeletVersion", ""),
        system=info.get("operatingSystem", "linux"),
    )


def probe(namespace: str, settings: Settings) -> dict[str, Any]:
    """A pod with an image volume that any set-up namespace allows."""
    defaults, fields = settings.pod_defaults(), PodFields()
    container = {
        "name": "main",
        "image": settings.runtime_image,
        "command": ["/torpor-tool"],
        "resources": pod_security.resources(defaults, fields),
        "securityContext": pod_security.of_own_container(defaults),
        "volumeMounts": [{"name": "runtime", "mountPath": "/runtime", "readOnly": True}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "torpor-image-volume-", "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": settings.task_service_account,
            "automountServiceAccountToken": False,
            "securityContext": pod_security.of_pod(fields),
            "containers": [container],
            "volumes": [{"name": "runtime", "image": {"reference": settings.runtime_image}}],
        },
    }
