"""A web site in a pod, for waits that are to reach one."""

import hashlib

from torpor_kubernetes.client.resources import PODS

from tests.e2e.support.concurrent_runs import IMAGE
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_CLOSED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


async def started(stage: ClusterFixture, knows: str) -> str:
    """The address of a site that knows this Authorization."""
    return await served(stage, ["python", "e2e_site.py", "--knows", hashlib.sha256(knows.encode()).hexdigest()])


async def served(stage: ClusterFixture, command: list[str]) -> str:
    """The address of a pod whose program listens at port 8000. It can write to /tmp."""
    pod = {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "site",
                "image": IMAGE,
                "imagePullPolicy": "IfNotPresent",
                "command": command,
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
                "securityContext": _CLOSED,
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    await stage.api.create(
        PODS, stage.namespace, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "site"}, "spec": pod}
    )

    async def ready() -> str | None:
        status = (await stage.api.get(PODS, stage.namespace, "site"))["status"]
        address: str | None = status.get("podIP")
        return (
            address
            if all(container["ready"] for container in status.get("containerStatuses", [{"ready": False}]))
            else None
        )

    return await stage.until(ready, TIMEOUT, "the site to be up")
