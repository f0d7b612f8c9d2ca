"""Why the containers of a task's pod cannot be created, beyond what the API server checks. Pure."""

from collections.abc import Collection, Sequence

from torpor_crds.models.pod_fields import InitContainer, VolumeMount
from torpor_crds.models.program import ContainerStep
from torpor_crds.models.task import Task
from torpor_crds.models.volume_claim import VolumeClaim

from torpor_operator.model.pod import MAIN, RESERVED


def problem(task: Task, claims: Sequence[VolumeClaim] = ()) -> str | None:
    """Why no pod can have the containers of the task; None if one can. `claims` are the volumes of the run."""
    names = [MAIN]
    steps = task.container.earlier_steps if task.container is not None else ()
    others = (*task.pod.init_containers, *task.pod.sidecars) if task.pod is not None else ()
    containers: list[ContainerStep | InitContainer] = [*steps, *others]
    for container in containers:
        if container.name.startswith(RESERVED):
            return f"pod: the container name {container.name} begins with {RESERVED}, as those of Torpor: rename it"
        if container.name in names:
            return (
                f"pod: two containers have the name {container.name}; the container of the task is {MAIN}: rename one"
            )
        names.append(container.name)
        mounts = () if isinstance(container, ContainerStep) else container.volume_mounts
        if own := [mount.name for mount in mounts if mount.name.startswith(RESERVED)]:
            return f"pod: container {container.name} mounts {own[0]}: volumes of Torpor are for the task alone"
    return _mount_problem(task, [claim.name for claim in claims])


def _mount_problem(task: Task, claims: Sequence[str]) -> str | None:
    """A mount of a volume that neither the pod nor the run has."""
    if (pod := task.pod) is None:
        return None
    volumes = {*claims, *(volume.name for volume in pod.volumes)}
    owners = [("pod", pod.volume_mounts)]
    owners += [(f"pod.initContainers[{at}]", each.volume_mounts) for at, each in enumerate(pod.init_containers)]
    owners += [(f"pod.sidecars[{at}]", each.volume_mounts) for at, each in enumerate(pod.sidecars)]
    wrong = (_unknown_volume(owner, mounts, volumes) for owner, mounts in owners)
    return next((each for each in wrong if each is not None), None)


def _unknown_volume(owner: str, mounts: Sequence[VolumeMount], volumes: Collection[str]) -> str | None:
    for number, mount in enumerate(mounts):
        if mount.name not in volumes and not mount.name.startswith(RESERVED):
            known = ", ".join(sorted(volumes)) or "none"
            where = f"{owner}.volumeMounts[{number}].name: unknown volume {mount.name}; volumes: {known}"
            return f"{where}; define it in pod.volumes or spec.volumeClaims"
    return None
