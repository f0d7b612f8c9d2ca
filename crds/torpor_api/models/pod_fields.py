"""What a workflow's author may say of a task's pod: an allow-list of pod fields, not a pod template.

What is left out is left out for a reason: host namespaces, host paths, privileges and other containers would break out
of Pod Security `restricted`, the command and the restart policy are Torpor's. The values inside are Kubernetes' own
and are checked by the API server when the pod is made; what it refuses fails the TaskRun with its words.
"""

from typing import Annotated, Any

from pydantic import Field

from torpor_api.models.base import Model, Name, ObjectName

Object = Annotated[dict[str, Any], Field(json_schema_extra={"x-object": True})]
Text = Annotated[str, Field(max_length=253)]
Word = Annotated[str, Field(max_length=4096)]


class Resources(Model):
    """Requests and limits of the task's container."""

    requests: Annotated[dict[str, Text], Field(max_length=16, description="Such as memory: 1Gi.")] = Field(
        default_factory=dict
    )
    limits: Annotated[dict[str, Text], Field(max_length=16, description="Such as memory: 2Gi.")] = Field(
        default_factory=dict
    )


class EnvVar(Model):
    """One environment variable."""

    name: Annotated[Text, Field(description="Name of the variable.")]
    value: Annotated[
        Word | None,
        Field(description="Its value, which may hold `${...}` expressions as `args` do; `$${` is a literal `${`."),
    ] = None
    value_from: Annotated[
        Object | None, Field(description="Where the value comes from: secretKeyRef, configMapKeyRef or fieldRef.")
    ] = None


class EnvValue(Model):
    """One environment variable, by its value."""

    name: Annotated[Text, Field(description="Name of the variable.")]
    value: Annotated[Word, Field(description="Its value.")]


class EnvSource(Model):
    """All entries of a ConfigMap or Secret as environment variables."""

    prefix: Annotated[str | None, Field(max_length=63, description="Written before each name.")] = None
    config_map_ref: Annotated[Object | None, Field(description="The ConfigMap: {name: ...}.")] = None
    secret_ref: Annotated[Object | None, Field(description="The Secret: {name: ...}.")] = None


class Volume(Model):
    """A volume of a safe kind; exactly one of them."""

    name: Annotated[Name, Field(description="Name that volumeMounts refer to.")]
    empty_dir: Annotated[Object | None, Field(description="An empty folder that goes with the pod.")] = None
    config_map: Annotated[Object | None, Field(description="The files of a ConfigMap.")] = None
    secret: Annotated[Object | None, Field(description="The files of a Secret.")] = None
    persistent_volume_claim: Annotated[Object | None, Field(description="A claim: {claimName: ...}.")] = None


class VolumeMount(Model):
    """Where the task's container sees a volume."""

    name: Annotated[Name, Field(description="The volume.")]
    mount_path: Annotated[Word, Field(description="Path in the container.")]
    sub_path: Annotated[Word | None, Field(description="Part of the volume, instead of its root.")] = None
    read_only: Annotated[bool | None, Field(description="Whether the task may only read.")] = None


Id = Annotated[int, Field(ge=1, le=2**31 - 1)]


class SecurityContext(Model):
    """Who the task's processes are, and whether they may write to their image's files."""

    run_as_user: Annotated[
        Id | None, Field(description="User that the task runs as, for an image whose USER is a name; never root.")
    ] = None
    run_as_group: Annotated[Id | None, Field(description="Group that the task runs as; unset: 65532.")] = None
    fs_group: Annotated[Id | None, Field(description="Group that the files of volumes belong to.")] = None
    read_only_root_filesystem: Annotated[
        bool | None,
        Field(
            description="Whether only /tmp and volumes can be written; unset: true. `false`: also the image's files."
        ),
    ] = None


class PodFields(Model):
    """The fields of a task's pod that are yours to set."""

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
        tuple[VolumeMount, ...], Field(max_length=20, description="Where the container sees the volumes.")
    ] = ()
    service_account_name: Annotated[
        ObjectName | None,
        Field(description="Instead of torpor-task; it needs the ClusterRole torpor-task in the namespace."),
    ] = None
    image_pull_secrets: Annotated[
        tuple[Object, ...], Field(max_length=10, description="Secrets for the image's registry: [{name: ...}].")
    ] = ()
    node_selector: Annotated[dict[str, Text], Field(max_length=20, description="Labels that the node must have.")] = (
        Field(default_factory=dict)
    )
    tolerations: Annotated[tuple[Object, ...], Field(max_length=20, description="Taints that the pod tolerates.")] = ()
    security_context: Annotated[
        SecurityContext | None, Field(description="User, groups, and whether the root file system is read-only.")
    ] = None
    affinity: Annotated[Object | None, Field(description="Affinity, as in a pod.")] = None
    labels: Annotated[dict[str, Text], Field(max_length=20, description="Labels of the pod, beside Torpor's.")] = Field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, Word], Field(max_length=20, description="Annotations of the pod.")] = Field(
        default_factory=dict
    )
