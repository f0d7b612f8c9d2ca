"""Why the containers of a task's pod cannot be created, beyond what the API server checks. Pure."""

from torpor_crds.models.pod_fields import InitContainer
from torpor_crds.models.program import ContainerStep
from torpor_crds.models.task import Task

from torpor_operator.model.pod import MAIN, RESERVED


def problem(task: Task) -> str | None:
    """Why no pod can have the containers of the task; None if one can."""
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
    return None
