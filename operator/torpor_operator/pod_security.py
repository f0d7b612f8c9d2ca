"""What a task's pod may do where its author does not say: Pod Security `restricted`, and less than that.

The root file system is read-only with an emptyDir at /tmp, the group is none of root's, memory has a limit. Pure.
"""

from dataclasses import dataclass, field
from typing import Any

from torpor_api.models.pod_fields import PodFields, SecurityContext

SCRATCH = "torpor-tmp"
_FOLDER = "/tmp"  # noqa: S108 - where Python and most programs look for room
_REQUESTS = {"cpu": "10m", "memory": "32Mi"}
_UNSET = SecurityContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDefaults:
    """What an installation sets for every task pod. `limits` by resource, `scratch` the size of /tmp."""

    group: int = 65532
    read_only: bool = True
    scratch: str = "1Gi"
    limits: dict[str, str] = field(default_factory=lambda: {"memory": "1Gi"})


def of_pod(chosen: PodFields) -> dict[str, Any]:
    """`securityContext` of the pod."""
    asked = chosen.security_context or _UNSET
    fixed = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return fixed | ({} if asked.fs_group is None else {"fsGroup": asked.fs_group})


def of_container(defaults: PodDefaults, chosen: PodFields) -> dict[str, Any]:
    """`securityContext` of its container.

    User and group stand here: containerd refuses the sandbox of a pod that has a group and no user, while a
    container's user is the image's.
    """
    asked = chosen.security_context or _UNSET
    ids = {"runAsUser": asked.run_as_user, "runAsGroup": asked.run_as_group or defaults.group or None}
    return {name: value for name, value in ids.items() if value is not None} | {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": _read_only(defaults, chosen),
    }


def scratch(defaults: PodDefaults, chosen: PodFields) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The volume of /tmp and its mount; none where the author has one there, or the root can be written."""
    own = any(mount.mount_path.rstrip("/") == _FOLDER for mount in chosen.volume_mounts)
    if own or not _read_only(defaults, chosen):
        return [], []
    size = {"sizeLimit": defaults.scratch} if defaults.scratch else {}
    return [{"name": SCRATCH, "emptyDir": size}], [{"name": SCRATCH, "mountPath": _FOLDER}]


def resources(defaults: PodDefaults, chosen: PodFields) -> dict[str, dict[str, str]]:
    """Requests and limits of the container: the author's, and a limit for each resource that they do not speak of.

    A limit brings its request, since the API server would take the limit for it.
    """
    asked = chosen.resources
    requests = dict(asked.requests) if asked else dict(_REQUESTS)
    limits = dict(asked.limits) if asked else {}
    named = {*asked.requests, *asked.limits} if asked else set()
    for name, limit in defaults.limits.items():
        if name not in named:
            limits[name] = limit
            requests.setdefault(name, _REQUESTS.get(name, limit))
    return {name: values for name, values in (("requests", requests), ("limits", limits)) if values}


def _read_only(defaults: PodDefaults, chosen: PodFields) -> bool:
    asked = chosen.security_context.read_only_root_filesystem if chosen.security_context else None
    return defaults.read_only if asked is None else asked
