"""Security context, /tmp and resources of a task pod: Pod Security `restricted`, and stricter by default. Pure.

By default the root file system is read-only with an emptyDir at /tmp, user and group are not root, and memory has a
limit. The author of a task can change these, as far as the Pod Security level of the namespace allows (ADR 0057).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from torpor_crds.models.pod_fields import Capabilities, PodFields, SecurityContext
from torpor_wire import constants

SCRATCH = "torpor-tmp"
_FOLDER = "/tmp"  # noqa: S108 - the directory of temporary files in Python and most programs
_REQUESTS = {"cpu": "10m", "memory": "32Mi"}
_UNSET = SecurityContext()
_NO_FIELDS = PodFields()
_NO_CAPABILITIES = Capabilities()
ROOT = 0
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
"""Annotations that the API server takes for fields of the security context."""
_SECCOMP = ("seccomp.security.alpha.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/")
"""Annotations of Kubernetes before 1.27, which other programs may still read."""
_APPARMOR_PROFILE = re.compile(r"runtime/default|localhost/[^$]*")
_RESTRICTED_CAPABILITIES = frozenset({"NET_BIND_SERVICE"})
_BASELINE_CAPABILITIES = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"}
    | {"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)
"""What the level `baseline` of the Pod Security Standards lets a container add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDefaults:
    """The defaults of an installation. `limits`: by resource. `scratch`: the size limit of /tmp.

    `user`: of pods whose task sets none, since the user of most images is root. 0: that of the image. `traced`: whether
    containers get the variable TRACEPARENT.
    """

    user: int = 65532
    group: int = 65532
    read_only: bool = True
    scratch: str = "1Gi"
    limits: dict[str, str] = field(default_factory=lambda: {"memory": "1Gi"})
    traced: bool = False


class PodSecurityLevel(IntEnum):
    """A level of Kubernetes' Pod Security Standards, from the strictest."""

    RESTRICTED = 0
    BASELINE = 1
    PRIVILEGED = 2


class LevelRequirement(NamedTuple):
    """The level that a security context needs, and the field that needs it."""

    level: PodSecurityLevel
    field: str = ""


_NO_REQUIREMENT = LevelRequirement(PodSecurityLevel.RESTRICTED)


def required_level(context: SecurityContext) -> LevelRequirement:
    """What the security context of a container requires of its namespace."""
    added, dropped = (
        (set(context.capabilities.add), context.capabilities.drop) if context.capabilities else (set(), None)
    )
    requirements = (
        (context.privileged, PodSecurityLevel.PRIVILEGED, "privileged"),
        (added - _BASELINE_CAPABILITIES, PodSecurityLevel.PRIVILEGED, "capabilities.add"),
        (added - _RESTRICTED_CAPABILITIES, PodSecurityLevel.BASELINE, "capabilities.add"),
        (dropped is not None and "ALL" not in dropped, PodSecurityLevel.BASELINE, "capabilities.drop"),
        (context.allow_privilege_escalation, PodSecurityLevel.BASELINE, "allowPrivilegeEscalation"),
        (context.run_as_user == ROOT, PodSecurityLevel.BASELINE, "runAsUser"),
    )
    return next((LevelRequirement(level, field) for needed, level, field in requirements if needed), _NO_REQUIREMENT)


def namespace_level(label: str) -> PodSecurityLevel:
    """The level of a namespace by its label. Without the label, no administrator has chosen one: it is `restricted`."""
    return next((level for level in PodSecurityLevel if level.name.lower() == label), PodSecurityLevel.RESTRICTED)


def pod_refusal(chosen: PodFields, namespace: str, label: str) -> str:
    """Why a namespace does not allow the pod fields of the author; empty if it does."""
    return next(filter(None, (_refusal(each, namespace, label) for each in requirements(chosen))), "")


def requirements(chosen: PodFields) -> Iterator[LevelRequirement]:
    """What the pod requires of its namespace: its security contexts, and what reaches the node without one."""
    yield from map(_of_context, contexts(chosen))
    for name, value in chosen.annotations.items():
        if name.startswith(_SECCOMP) or (name.startswith(_APPARMOR) and not _APPARMOR_PROFILE.fullmatch(value)):
            yield LevelRequirement(PodSecurityLevel.PRIVILEGED, f"annotations: {name}")
    for sidecar in chosen.sidecars:
        if any(port.get("hostPort") for port in sidecar.ports):
            yield LevelRequirement(PodSecurityLevel.PRIVILEGED, "sidecars.ports.hostPort")
        probes = (sidecar.startup_probe, sidecar.readiness_probe, sidecar.liveness_probe)
        if any(isinstance(how, dict) and how.get("host") for probe in probes for how in (probe or {}).values()):
            yield LevelRequirement(PodSecurityLevel.PRIVILEGED, "sidecars: host of a probe")


def _of_context(context: SecurityContext) -> LevelRequirement:
    level, field = required_level(context)
    return LevelRequirement(level, f"securityContext.{field}")


def _refusal(required: LevelRequirement, namespace: str, label: str) -> str:
    if required.level <= namespace_level(label):
        return ""
    level, allowed = required.level.name.lower(), label or PodSecurityLevel.RESTRICTED.name.lower()
    return (
        f"pod.{required.field} needs Pod Security level {level}, and namespace {namespace} allows "
        f"{allowed}: an administrator can set its label {constants.POD_SECURITY_LABEL}: {level}"
    )


def contexts(chosen: PodFields) -> tuple[SecurityContext, ...]:
    """The security contexts of the task, its init containers and its sidecars."""
    others = (container.security_context for container in (*chosen.init_containers, *chosen.sidecars))
    return tuple(context for context in (chosen.security_context, *others) if context is not None)


def of_pod(chosen: PodFields) -> dict[str, Any]:
    """The `securityContext` of the pod."""
    context = chosen.security_context or _UNSET
    has_root = any(each.run_as_user == ROOT or each.privileged for each in contexts(chosen))
    fixed = {} if has_root else {"runAsNonRoot": True}
    groups = {"fsGroup": context.fs_group, "supplementalGroups": list(context.supplemental_groups) or None}
    return (
        fixed
        | {"seccompProfile": {"type": "RuntimeDefault"}}
        | {name: value for name, value in groups.items() if value is not None}
    )


def of_container(defaults: PodDefaults, chosen: PodFields, *, of_image: bool = False) -> dict[str, Any]:
    """The `securityContext` of its container. `of_image`: the image was built for Torpor, so its user is kept.

    User and group are set here and not on the pod: containerd rejects a pod with a group and no user. A task without a
    user gets a default one, since the user of most images is root.
    """
    context = chosen.security_context or _UNSET
    default_user = None if of_image else defaults.user or None
    user = default_user if context.run_as_user is None else context.run_as_user
    group = (defaults.group or None) if user != ROOT else None
    ids = {"runAsUser": user, "runAsGroup": group if context.run_as_group is None else context.run_as_group}
    return (
        {name: value for name, value in ids.items() if value is not None}
        | _privileges(context)
        | {"readOnlyRootFilesystem": _read_only(defaults, chosen)}
    )


def _privileges(context: SecurityContext) -> dict[str, Any]:
    """Privileges of the container: none, unless the author asks for some."""
    if context.privileged:  # it includes all others, and the API server rejects it without them
        return {"privileged": True}
    wanted = context.capabilities or _NO_CAPABILITIES
    dropped = ["ALL"] if wanted.drop is None else list(wanted.drop)
    lists = {"drop": dropped, "add": list(wanted.add)}
    return {
        "allowPrivilegeEscalation": bool(context.allow_privilege_escalation),
        "capabilities": {name: names for name, names in lists.items() if names},
    }


def of_own_container(defaults: PodDefaults) -> dict[str, Any]:
    """The `securityContext` of a container that Torpor adds to the pod."""
    return of_container(defaults, _NO_FIELDS) | {"readOnlyRootFilesystem": True}


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
