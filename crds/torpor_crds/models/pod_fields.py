"""What a workflow's author may say of a task's pod: an allow-list of pod fields, not a pod template.

What is left out is left out for a reason: host namespaces, host paths, privileges and other containers would break out
of Pod Security `restricted`, the command and the restart policy are Torpor's. The values inside are Kubernetes' own
and are checked by the API server when the pod is made; what it refuses fails the TaskRun with its words.
"""

from typing import Annotated, Any

from pydantic import Field

from torpor_crds.models.base import Model, Name, ObjectName

Object = Annotated[dict[str, Any], Field(json_schema_extra={"x-object": True})]
Text = Annotated[str, Field(max_length=253)]
Word = Annotated[str, Field(max_length=4096)]


class Resources(Model):
    """Requests and limits of the task's container."""

    requests: Annotated[
        dict[str, Text], Field(max_length=16, description="Resource requests, such as memory: 1Gi.")
    ] = Field(default_factory=dict)
    limits: Annotated[dict[str, Text], Field(max_length=16, description="Resource limits, such as memory: 2Gi.")] = (
        Field(default_factory=dict)
    )


class EnvVar(Model):
    """An environment variable."""

    name: Annotated[Text, Field(description="Name of the variable.")]
    value: Annotated[
        Word | None,
        Field(
            description="Value of the variable. It may contain `${...}` expressions, as `args` may. `$${` is a literal "
            "`${`."
        ),
    ] = None
    value_from: Annotated[
        Object | None, Field(description="Source of the value: secretKeyRef, configMapKeyRef or fieldRef.")
    ] = None


class EnvValue(Model):
    """An environment variable with its value."""

    name: Annotated[Text, Field(description="Name of the variable.")]
    value: Annotated[Word, Field(description="Value of the variable.")]


class PodValue(Model):
    """A pod field whose expressions are evaluated."""

    path: Annotated[
        str,
        Field(max_length=253, description="JSON Pointer of the field in `pod`, such as /nodeSelector/disk."),
    ]
    value: Annotated[Word, Field(description="Value of the field.")]


class EnvSource(Model):
    """All entries of a ConfigMap or Secret as environment variables."""

    prefix: Annotated[str | None, Field(max_length=63, description="Prefix of each name.")] = None
    config_map_ref: Annotated[Object | None, Field(description="The ConfigMap: {name: ...}.")] = None
    secret_ref: Annotated[Object | None, Field(description="The Secret: {name: ...}.")] = None


class Volume(Model):
    """A volume of one of the allowed kinds."""

    name: Annotated[Name, Field(description="Name that volumeMounts refer to.")]
    empty_dir: Annotated[Object | None, Field(description="An empty directory with the lifetime of the pod.")] = None
    config_map: Annotated[Object | None, Field(description="The files of a ConfigMap.")] = None
    secret: Annotated[Object | None, Field(description="The files of a Secret.")] = None
    persistent_volume_claim: Annotated[Object | None, Field(description="A claim: {claimName: ...}.")] = None


class VolumeMount(Model):
    """The mount point of a volume."""

    name: Annotated[Name, Field(description="Name of the volume.")]
    mount_path: Annotated[Word, Field(description="Path in the container.")]
    sub_path: Annotated[Word | None, Field(description="Path within the volume. Unset: its root.")] = None
    read_only: Annotated[bool | None, Field(description="Whether the mount is read-only.")] = None


Id = Annotated[int, Field(ge=1, le=2**31 - 1)]


class SecurityContext(Model):
    """User and groups of the task, and whether it may write to files of its image."""

    run_as_user: Annotated[
        Id | None,
        Field(description="User id of the task. Required if USER of the image is a name. Root is not allowed."),
    ] = None
    run_as_group: Annotated[Id | None, Field(description="Group id of the task. Unset: 65532.")] = None
    fs_group: Annotated[Id | None, Field(description="Group that owns the files of volumes.")] = None
    read_only_root_filesystem: Annotated[
        bool | None,
        Field(
            description="Whether the task can write only to /tmp and volumes. Unset: true. With `false` it can also "
            "write to files of its image."
        ),
    ] = None


class InitContainer(Model):
    """A container that ends before the task begins. It has no token, and reports no outcome."""

    name: Annotated[Name, Field(description="Name of the container in the pod, for logs and messages.")]
    image: Annotated[str, Field(min_length=1, max_length=512, description="Image of the container.")]
    command: Annotated[
        tuple[Word, ...],
        Field(max_length=64, description="Replaces the entrypoint. Texts may contain `${...}` expressions."),
    ] = ()
    args: Annotated[
        tuple[Word, ...],
        Field(max_length=64, description="Replaces the arguments. Texts may contain `${...}` expressions."),
    ] = ()
    env: Annotated[tuple[EnvVar, ...], Field(max_length=64, description="Environment variables.")] = ()
    env_from: Annotated[
        tuple[EnvSource, ...], Field(max_length=10, description="ConfigMaps and Secrets as environment variables.")
    ] = ()
    resources: Annotated[Resources | None, Field(description="Requests and limits of the container.")] = None
    volume_mounts: Annotated[
        tuple[VolumeMount, ...], Field(max_length=20, description="Mount points of volumes of the pod.")
    ] = ()
    security_context: Annotated[
        SecurityContext | None,
        Field(description="User of the container, and whether its root file system is read-only."),
    ] = None


class Sidecar(InitContainer):
    """A container that starts before the task, runs beside it, and ends with it: a native sidecar of Kubernetes."""

    ports: Annotated[
        tuple[Object, ...], Field(max_length=10, description="Ports, as in a container: [{containerPort: 5432}].")
    ] = ()
    startup_probe: Annotated[
        Object | None, Field(description="The task begins after this probe has succeeded. Unset: after the start.")
    ] = None
    readiness_probe: Annotated[Object | None, Field(description="Readiness probe, as in a container.")] = None
    liveness_probe: Annotated[
        Object | None, Field(description="The sidecar restarts if this probe fails. The task goes on.")
    ] = None


class PodFields(Model):
    """Fields of the pod of the task."""

    init_containers: Annotated[
        tuple[InitContainer, ...],
        Field(
            max_length=8,
            description="Containers that run one after the other before the sidecars and the task. If one fails, the "
            "attempt fails.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    sidecars: Annotated[
        tuple[Sidecar, ...],
        Field(
            max_length=8,
            description="Containers that run beside the task, such as a database or a proxy. They end with the task. "
            "They need Kubernetes 1.29 or later.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()

    resources: Annotated[Resources | None, Field(description="Requests and limits of the container.")] = None
    env: Annotated[tuple[EnvVar, ...], Field(max_length=100, description="Environment variables.")] = ()
    env_from: Annotated[
        tuple[EnvSource, ...], Field(max_length=20, description="ConfigMaps and Secrets as environment variables.")
    ] = ()
    volumes: Annotated[
        tuple[Volume, ...],
        Field(max_length=20, description="emptyDir, configMap, secret or persistentVolumeClaim."),
    ] = ()
    volume_mounts: Annotated[
        tuple[VolumeMount, ...], Field(max_length=20, description="Mount points of the volumes.")
    ] = ()
    service_account_name: Annotated[
        ObjectName | None,
        Field(
            description="ServiceAccount of the pod, instead of torpor-task. It needs the ClusterRole torpor-task in the"
            " namespace."
        ),
    ] = None
    image_pull_secrets: Annotated[
        tuple[Object, ...], Field(max_length=10, description="Secrets for the image's registry: [{name: ...}].")
    ] = ()
    node_selector: Annotated[dict[str, Text], Field(max_length=20, description="Labels that a node must have.")] = (
        Field(default_factory=dict)
    )
    tolerations: Annotated[tuple[Object, ...], Field(max_length=20, description="Taints that the pod tolerates.")] = ()
    security_context: Annotated[
        SecurityContext | None, Field(description="User, groups, and whether the root file system is read-only.")
    ] = None
    affinity: Annotated[Object | None, Field(description="Affinity, as in a pod.")] = None
    labels: Annotated[dict[str, Text], Field(max_length=20, description="Additional labels of the pod.")] = Field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, Word], Field(max_length=20, description="Annotations of the pod.")] = Field(
        default_factory=dict
    )
