"""What a pod mounts besides its image: the runtime folder of an injected pod, and the files of `source`. Pure.

The folder comes from the image of the runtime: as an image volume, or by an init container that copies it into an
emptyDir (ADR 0037). An image volume may be mounted with noexec, so a pod that runs a program of the folder needs the
init container, which then copies only the program: the packages are 228 files (ADR 0095).
"""

from dataclasses import dataclass, field
from typing import Any

from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants
from torpor_wire.enums import Runtime

from torpor_operator import pod_security
from torpor_operator.model.pod import RUNTIME_CONTAINER
from torpor_operator.model.snapshot import PodContext

VOLUME = "torpor-runtime"
ARCHIVE_TOKEN: dict[str, Any] = {
    "serviceAccountToken": {
        "path": constants.ARCHIVE_TOKEN,
        "audience": constants.ARCHIVE_AUDIENCE,
        "expirationSeconds": 3600,
    }
}
COMMAND = ["python3", f"{constants.RUNTIME_FOLDER}/start.py"]
SOURCE = "torpor-source"
_COPY = ["/torpor-tool", "copy", constants.RUNTIME_FOLDER]
_ONLY_TOOL = {"name": constants.ENV_COPY, "value": "tool"}
_SIZE = "64Mi"
_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PodParts:
    """Fields of the pod, and fields of its container."""

    volumes: list[dict[str, Any]] = field(default_factory=list)
    mounts: list[dict[str, Any]] = field(default_factory=list)
    init_containers: list[dict[str, Any]] = field(default_factory=list)
    env: list[dict[str, Any]] = field(default_factory=list)


def is_injected(taskrun: TaskRun) -> bool:
    """Whether the operator brings the runtime into the pod of a python task."""
    return taskrun.spec.container is None and taskrun.spec.runtime is not Runtime.IMAGE


def runtime(context: PodContext, chosen: PodFields, *, executable: bool = False) -> PodParts:
    """The runtime folder at /torpor. `executable`: whether the pod runs a program of it."""
    mount = {"name": VOLUME, "mountPath": constants.RUNTIME_FOLDER}
    read_only = mount | {"readOnly": True}
    if context.image_volumes and not executable:
        return PodParts(
            volumes=[{"name": VOLUME, "image": {"reference": context.runtime_image}}],
            mounts=[read_only],
        )
    copy = {
        "name": RUNTIME_CONTAINER,
        "image": context.runtime_image,
        "command": _COPY,
        **({"env": [_ONLY_TOOL]} if executable else {}),
        "resources": compute(pod_security.resources(context.defaults, chosen)),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pod_security.of_own_container(context.defaults),
        "volumeMounts": [mount],
    }
    return PodParts(
        volumes=[{"name": VOLUME, "emptyDir": {"sizeLimit": _SIZE}}],
        mounts=[read_only],
        init_containers=[copy],
    )


def source(taskrun: TaskRun) -> PodParts:
    """The files of `source`, and the variable by which the runtime finds them."""
    files = taskrun.spec.source
    if files is None:
        return PodParts()
    return PodParts(
        volumes=[{"name": SOURCE, "configMap": {"name": files.config_map}}],
        mounts=[{"name": SOURCE, "mountPath": constants.SOURCE_FOLDER, "readOnly": True}],
        env=[{"name": constants.ENV_SOURCE, "value": constants.SOURCE_FOLDER}],
    )


def compute(resources: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The resources of the task without its devices: a pod requests the larger of both, so it requests no more."""
    kinds = ((kind, {name: value for name, value in of.items() if name in _COMPUTE}) for kind, of in resources.items())
    return {kind: values for kind, values in kinds if values}
