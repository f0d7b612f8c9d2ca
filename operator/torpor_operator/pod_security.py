"""Security context, /tmp and resources of a task pod: Pod Security `restricted`, and stricter by default. Pure.

By default the root file system is read-only with an emptyDir at /tmp, the group is not root, and memory has a limit.
The author of a task can change these.
"""

from dataclasses import dataclass, field
from typing import Any

from torpor_crds.models.pod_fields import PodFields, SecurityContext

SCRATCH = "torpor-tmp"
_FOLDER = "/tmp"  # noqa: S108 - the directory of temporary files in Python and most programs
_REQUESTS = {"cpu": "10m", "memory": "32Mi"}
_UNSET = SecurityContext()
_NO_FIELDS = PodFields()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDefaults:
    """The defaults of an installation. `limits`: by resource. `scratch`: the size limit of /tmp.

    `user`: of pods into which the runtime is injected, since the user of most images is root. 0: that of the image.
    """

    user: int = 65532
    group: int = 65532
    read_only: bool = True
    scratch: str = "1Gi"
    limits: dict[str, str] = field(default_factory=lambda: {"memory": "1Gi"})


def of_pod(chosen: PodFields) -> dict[str, Any]:
    """The `securityContext` of the pod."""
    context = chosen.security_context or _UNSET
    fixed = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return fixed | ({} if context.fs_group is None else {"fsGroup": context.fs_group})


def of_container(defaults: PodDefaults, chosen: PodFields, *, injected: bool = False) -> dict[str, Any]:
    """The `securityContext` of its container. `injected`: whether any image may be used, also one of root.

    User and group are set here and not on the pod: containerd rejects a pod with a group and no user, while the user
    of a container comes from its image.
    """
    context = chosen.security_context or _UNSET
    default_user = defaults.user or None if injected else None
    ids = {
        "runAsUser": default_user if context.run_as_user is None else context.run_as_user,
        "runAsGroup": context.run_as_group or defaults.group or None,
    }
    return {name: value for name, value in ids.items() if value is not None} | {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": _read_only(defaults, chosen),
    }


def of_own_container(defaults: PodDefaults) -> dict[str, Any]:
    """The `securityContext` of a container that Torpor adds to the pod."""
    return of_container(defaults, _NO_FIELDS, injected=True) | {"readOnlyRootFilesystem": True}


def scratch(defaults: PodDefaults, chosen: PodFields) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The volume of /tmp and its mount. None if the author mounts one there, or the root file system is writable."""
    mounted = any(mount.mount_path.rstrip("/") == _FOLDER for mount in chosen.volume_mounts)
    if mounted or not _read_only(defaults, chosen):
        return [], []
    size = {"sizeLimit": defaults.scratch} if defaults.scratch else {}
    return [{"name": SCRATCH, "emptyDir": size}], [{"name": SCRATCH, "mountPath": _FOLDER}]


def resources(defaults: PodDefaults, chosen: PodFields) -> dict[str, dict[str, str]]:
    """Requests and limits of the container: the author's, plus default limits of resources that they do not mention.

    A default limit brings a request, since the API server would otherwise use the limit as the request.
    """
    own = chosen.resources
    requests = dict(own.requests) if own else dict(_REQUESTS)
    limits = dict(own.limits) if own else {}
    mentioned = {*own.requests, *own.limits} if own else set()
    for name, limit in defaults.limits.items():
        if name not in mentioned:
            limits[name] = limit
            requests.setdefault(name, _REQUESTS.get(name, limit))
    return {name: values for name, values in (("requests", requests), ("limits", limits)) if values}


def _read_only(defaults: PodDefaults, chosen: PodFields) -> bool:
    own = chosen.security_context.read_only_root_filesystem if chosen.security_context else None
    return defaults.read_only if own is None else own
