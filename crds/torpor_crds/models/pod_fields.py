"""What the author of a Workflow may set in the pod of a task: an allow-list of pod fields, not a pod template.

ADR 0058 has the reason for each field, and for those that are left out. The values are those of Kubernetes. The API
server checks them when the pod is created. What it refuses fails the TaskRun with its message.
"""

from typing import Annotated, Any

from pydantic import Field

from torpor_crds.models.base import Model, Name, ObjectName, Quantity

Object = Annotated[dict[str, Any], Field(json_schema_extra={"x-object": True})]
Text = Annotated[str, Field(max_length=253)]
Word = Annotated[str, Field(max_length=4096)]


class ResourceClaimRef(Model):
    """A resource claim of the pod that the container uses."""

    name: Annotated[Text, Field(description="Name of an entry of `resourceClaims`.")]
    request: Annotated[Text | None, Field(description="Request of the claim. Unset: all of it.")] = None


class Resources(Model):
    """Requests and limits of the task's container."""

    requests: Annotated[
        dict[str, Quantity], Field(max_length=16, description="Resource requests, such as memory: 1Gi.")
    ] = Field(default_factory=dict)
    limits: Annotated[
        dict[str, Quantity], Field(max_length=16, description="Resource limits, such as memory: 2Gi.")
    ] = Field(default_factory=dict)
    claims: Annotated[
        tuple[ResourceClaimRef, ...], Field(max_length=16, description="Resource claims that the container uses.")
    ] = ()


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
        str, Field(max_length=253, description="JSON Pointer of the field in `pod`, such as /nodeSelector/disk.")
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
    ephemeral: Annotated[
        Object | None, Field(description="A claim with the lifetime of the pod: {volumeClaimTemplate: {spec: ...}}.")
    ] = None
    projected: Annotated[
        Object | None,
        Field(
            description="Files of several sources. A serviceAccountToken needs an `audience`, which must not be "
            "torpor-archive."
        ),
    ] = None
    csi: Annotated[Object | None, Field(description="A volume of a CSI driver with the lifetime of the pod.")] = None
    downward_api: Annotated[Object | None, Field(alias="downwardAPI", description="Fields of the pod as files.")] = None


class VolumeMount(Model):
    """The mount point of a volume."""

    name: Annotated[Name, Field(description="Name of the volume.")]
    mount_path: Annotated[Word, Field(description="Path in the container.")]
    sub_path: Annotated[Word | None, Field(description="Path within the volume. Unset: its root.")] = None
    read_only: Annotated[bool | None, Field(description="Whether the mount is read-only.")] = None


Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
Capability = Annotated[str, Field(max_length=40, pattern=r"^[A-Z][A-Z_]*$")]


class Capabilities(Model):
    """Linux capabilities."""

    add: Annotated[
        tuple[Capability, ...],
        Field(
            max_length=40,
            description="Capabilities to add. All but NET_BIND_SERVICE need a namespace of level baseline, some "
            "of them level privileged.",
        ),
    ] = ()
    drop: Annotated[
        tuple[Capability, ...] | None,
        Field(max_length=40, description="Capabilities to drop. Unset: ALL. Less needs a namespace of level baseline."),
    ] = None


class SecurityContext(Model):
    """User, groups and privileges of the task, and whether it may write to files of its image.

    The Pod Security level of the namespace, in its label pod-security.kubernetes.io/enforce, limits them (ADR 0057).
    """

    run_as_user: Annotated[
        Id | None,
        Field(description="User id of the task. Unset: 65532. 0 is root and needs a namespace of level baseline."),
    ] = None
    run_as_group: Annotated[Id | None, Field(description="Group id of the task. Unset: 65532.")] = None
    fs_group: Annotated[Id | None, Field(description="Group that owns the files of volumes.")] = None
    supplemental_groups: Annotated[tuple[Id, ...], Field(max_length=32, description="Further groups of the task.")] = ()
    read_only_root_filesystem: Annotated[
        bool | None,
        Field(
            description="Whether the task can write only to /tmp and volumes. Unset: true. With `false` it can also "
            "write to files of its image."
        ),
    ] = None
    allow_privilege_escalation: Annotated[
        bool | None,
        Field(
            description="Whether the program can gain privileges, for example with sudo. Unset: false. `true` needs a "
            "namespace of level baseline."
        ),
    ] = None
    capabilities: Annotated[Capabilities | None, Field(description="Linux capabilities. Unset: none.")] = None
    privileged: Annotated[
        bool | None,
        Field(
            description="Whether the container has all privileges of its node, as Docker in Docker needs. It needs a "
            "namespace of level privileged."
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
        Field(
            max_length=20,
            description="emptyDir, configMap, secret, persistentVolumeClaim, ephemeral, projected, csi or downwardAPI.",
        ),
    ] = ()
    volume_mounts: Annotated[
        tuple[VolumeMount, ...], Field(max_length=20, description="Mount points of the volumes.")
    ] = ()
    service_account_name: Annotated[
        ObjectName | None,
        Field(
            description="ServiceAccount of the pod, instead of torpor-task. Its annotation torpor.dev/tokens must be "
            "`allowed`. For a python task it also needs the ClusterRole torpor-task in the namespace."
        ),
    ] = None
    service_account_token: Annotated[
        bool | None, Field(description="Whether the task gets an API token of the account in `serviceAccountName`.")
    ] = None
    image_pull_secrets: Annotated[
        tuple[Object, ...], Field(max_length=10, description="Secrets for the image's registry: [{name: ...}].")
    ] = ()
    node_selector: Annotated[dict[str, Text], Field(max_length=20, description="Labels that a node must have.")] = (
        Field(default_factory=dict)
    )
    tolerations: Annotated[tuple[Object, ...], Field(max_length=20, description="Taints that the pod tolerates.")] = ()
    security_context: Annotated[
        SecurityContext | None,
        Field(description="User, groups, privileges, and whether the root file system is read-only."),
    ] = None
    affinity: Annotated[Object | None, Field(description="Affinity, as in a pod.")] = None
    topology_spread_constraints: Annotated[
        tuple[Object, ...],
        Field(max_length=10, description="How pods are spread over zones or nodes. Unset labelSelector: no pods."),
    ] = ()
    priority_class_name: Annotated[
        ObjectName | None, Field(description="PriorityClass of the pod. Names that begin with system- are refused.")
    ] = None
    runtime_class_name: Annotated[
        ObjectName | None, Field(description="RuntimeClass of the pod, such as one that isolates it.")
    ] = None
    dns_policy: Annotated[
        str | None,
        Field(
            description="Default, ClusterFirst or None, which needs dnsConfig.",
            json_schema_extra={"enum": ["Default", "ClusterFirst", "None"]},
        ),
    ] = None
    dns_config: Annotated[Object | None, Field(description="Name servers, search domains and options.")] = None
    host_aliases: Annotated[
        tuple[Object, ...], Field(max_length=50, description="Entries of /etc/hosts: [{ip: ..., hostnames: [...]}].")
    ] = ()
    resource_claims: Annotated[
        tuple[Object, ...], Field(max_length=16, description="Claims of devices, which `resources.claims` names.")
    ] = ()
    working_dir: Annotated[Word | None, Field(description="Working directory. Unset: that of the image.")] = None
    labels: Annotated[dict[str, Text], Field(max_length=20, description="Additional labels of the pod.")] = Field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, Word], Field(max_length=20, description="Annotations of the pod.")] = Field(
        default_factory=dict
    )
