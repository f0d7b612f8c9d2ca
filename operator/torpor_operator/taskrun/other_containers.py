"""The containers of a pod beside that of the task: init containers and native sidecars (ADR 0061). Pure.

They have no token and none of Torpor's volumes. Each has its own file for a termination message, so none of them can
write the outcome of another one.
"""

from typing import Any

from torpor_crds.models.pod_fields import InitContainer, PodFields, Sidecar

from torpor_operator import pod_security
from torpor_operator.model.pod import RESERVED
from torpor_operator.model.snapshot import PodContext
from torpor_operator.taskrun.runtime_volume import PodParts


def build(context: PodContext, chosen: PodFields) -> PodParts:
    """The containers that begin before the task: init containers, then sidecars; and a volume for /tmp of each."""
    each_container = (*chosen.init_containers, *chosen.sidecars)
    built = [_container(context, container) for container in each_container]
    return PodParts(
        init_containers=[body for body, _ in built], volumes=[volume for _, volumes in built for volume in volumes]
    )


def _container(context: PodContext, container: InitContainer) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    fields = PodFields(
        resources=container.resources,
        security_context=container.security_context,
        volume_mounts=tuple(mount for mount in container.volume_mounts if not mount.name.startswith(RESERVED)),
    )
    volumes, mounts = pod_security.scratch(context.defaults, fields)
    name = f"{pod_security.SCRATCH}-{container.name}"
    body = {
        "name": container.name,
        "image": container.image,
        "command": list(container.command),
        "args": list(container.args),
        "env": [variable.to_json() for variable in container.env],
        "envFrom": [source.to_json() for source in container.env_from],
        "resources": pod_security.resources(context.defaults, fields),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pod_security.of_container(context.defaults, fields),
        "volumeMounts": [
            *(mount.to_json() for mount in fields.volume_mounts),
            *(mount | {"name": name} for mount in mounts),
        ],
        **(_sidecar(container) if isinstance(container, Sidecar) else {}),
    }
    filled = {key: value for key, value in body.items() if value not in (None, [], {})}
    return filled, [volume | {"name": name} for volume in volumes]


def _sidecar(sidecar: Sidecar) -> dict[str, Any]:
    """What makes a container a native sidecar: it restarts, and ends after the containers of the pod."""
    return {
        "restartPolicy": "Always",
        "ports": list(sidecar.ports),
        "startupProbe": sidecar.startup_probe,
        "readinessProbe": sidecar.readiness_probe,
        "livenessProbe": sidecar.liveness_probe,
    }
