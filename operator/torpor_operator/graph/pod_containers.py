"""Why the containers of a task's pod cannot be created, beyond what the API server checks. Pure."""

from torpor_crds.models.pod_fields import PodFields

from torpor_operator.model.pod import MAIN, RESERVED


def problem(chosen: PodFields | None) -> str | None:
    """Why the containers of a pod cannot be created, beyond what the API server checks."""
    if chosen is None:
        return None
    names = [MAIN]
    for container in (*chosen.init_containers, *chosen.sidecars):
        if container.name.startswith(RESERVED):
            return f"pod: the container name {container.name} begins with {RESERVED}, as those of Torpor: rename it"
        if container.name in names:
            return (
                f"pod: two containers have the name {container.name}; the container of the task is {MAIN}: rename one"
            )
        names.append(container.name)
        if own := [mount.name for mount in container.volume_mounts if mount.name.startswith(RESERVED)]:
            return f"pod: container {container.name} mounts {own[0]}: volumes of Torpor are for the task alone"
    return None
