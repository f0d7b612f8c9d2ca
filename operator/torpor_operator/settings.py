"""The settings of one operator replica: from flags, else from the environment, else defaults. Frozen at start."""

import socket
import tempfile
from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict
from torpor_kubernetes.process_settings import ARCHIVE_TOKEN_FILE, NamespaceName, ProcessSettings
from torpor_wire import constants

from torpor_operator.pod_security import PodDefaults
from torpor_operator.task_defaults import parse_defaults


def _check_network(text: str) -> str:
    return str(ip_network(text.strip(), strict=False))


def _check_endpoint(text: str) -> str:
    if text and urlsplit(text).scheme not in {"http", "https"}:
        raise ValueError(f"{text!r}: write http://host:port or https://host:port")
    return text


Network = Annotated[str, AfterValidator(_check_network)]
Rate = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(ge=1.0, allow_inf_nan=False)]


def _checked_defaults(text: str) -> str:
    """The text, which has defaults of tasks. Raises ValueError."""
    defaults = parse_defaults(text)
    if defaults is not None and defaults.image is not None:
        raise ValueError(
            "image is not a default of an installation: the API server could not check that tasks have one"
        )
    return text


class Injection(StrEnum):
    """How the runtime gets into the pods of python tasks (ADR 0037)."""

    AUTO = "auto"
    IMAGE_VOLUME = "image-volume"
    INIT_CONTAINER = "init-container"


class Settings(ProcessSettings):
    """The Torpor controller. Durations are in seconds."""

    model_config = SettingsConfigDict(cli_prog_name="torpor-operator")
    variables = {  # noqa: RUF012 - a ClassVar of the base
        "namespace": "POD_NAMESPACE",
        "identity": "POD_NAME",
        "runtime_image": "RUNTIME_IMAGE",
        "otlp_endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",
    }
    list_variables = {  # noqa: RUF012
        "namespaces": "TORPOR_NAMESPACES",
        "allow_networks": constants.ENV_ALLOW_NETWORKS,
        "deny_networks": constants.ENV_DENY_NETWORKS,
    }

    namespace: str = Field(default="torpor-system", description="namespace of the leader election Lease")
    namespaces: tuple[NamespaceName, ...] = Field(
        default=(), description="namespaces that it serves, and no other; repeatable; default: all"
    )
    identity: str = Field(
        default_factory=socket.gethostname, description="name of this replica, unique among the replicas"
    )
    token_file: str = Field(
        default=ARCHIVE_TOKEN_FILE,
        description="token of audience torpor-archive, with which the operator authenticates to the archive",
    )
    liveness: str = Field(default="http://0.0.0.0:8080/healthz", description="address of the liveness probe")
    metrics_port: int = Field(
        default=8081, ge=0, le=65535, description="port of the metrics; 0 lets the system choose one"
    )
    otlp_endpoint: Annotated[str, AfterValidator(_check_endpoint)] = Field(
        default="",
        description="URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://collector:4318; "
        "empty: no traces",
    )
    task_service_account: str = Field(default="torpor-task", description="ServiceAccount of task pods that name none")
    runtime_image: str = Field(
        default="torpor-runtime:dev",
        description="image with the runtime of python tasks, which the operator injects into pods of any image",
    )
    runtime_injection: Injection = Field(
        default=Injection.AUTO,
        description="how the runtime gets into a pod: image-volume, init-container, or auto: an image volume where the "
        "API server and all nodes support it",
    )
    deferrable: bool = Field(
        default=True,
        description="whether sensors release their pods while they wait, unless the Workflow sets spec.deferrable",
    )
    task_user: int = Field(
        default=65532,
        description="user that tasks run as, unless they set one; 0 keeps that of the image, which must not be root",
    )
    task_group: int = Field(
        default=65532,
        description="group that task pods run as, unless the task sets one; 0 keeps the group of the image",
    )
    task_read_only_root: bool = Field(
        default=True,
        description="whether the root file system of task pods is read-only, unless the task sets another value",
    )
    task_tmp_size: str = Field(
        default="1Gi", description="size limit of the emptyDir at /tmp of task pods; empty: no limit"
    )
    task_memory_limit: str = Field(
        default="1Gi", description="memory limit of task pods that set no memory resources; empty: no limit"
    )
    task_cpu_limit: str = Field(
        default="", description="CPU limit of task pods that set no CPU resources; empty: no limit"
    )
    allow_networks: tuple[Network, ...] = Field(
        default=(), description="networks in which sources of files may be although they are denied; repeatable"
    )
    deny_networks: tuple[Network, ...] = Field(
        default=(), description="networks in which sources of files may not be; repeatable"
    )
    task_defaults: Annotated[str, AfterValidator(_checked_defaults)] = Field(
        default="",
        description="defaults of the tasks of all runs, as JSON: pod, retries, timeout and logs; those of a namespace, "
        "of the Workflow and of the task come first",
    )
    former_pod_grace: float = Field(
        default=5.0,
        description="how long a pod may live after its segment has reported, before the operator deletes it",
    )
    finished_pod_grace: float = Field(
        default=60.0, description="the same after the pod has reported the end of its TaskRun"
    )
    start_grace: float = Field(
        default=5.0, description="how long a pod may take to start before the TaskRun shows the cause"
    )
    pods_ttl: float = Field(
        default=86_400.0, description="how long ended task pods are kept, unless the Workflow sets spec.podsTTL"
    )
    image_pull_grace: float = Field(
        default=60.0, description="how long an image pull may fail before the attempt fails"
    )
    triggerer_grace: float = Field(
        default=60.0, description="how long the operator waits for a triggerer to handle a deadline or a cancellation"
    )
    unserved_grace: float = Field(
        default=30.0, description="how long a pool may have no triggerer before its waits show PoolUnserved"
    )
    stray_grace: float = Field(
        default=30.0, description="seconds before an orphaned TaskRun is reported (up to double)"
    )
    node_grace: float = Field(
        default=30.0, description="how long a deleted pod may take to terminate before its TaskRun shows NodeLost"
    )
    archive_grace: float = Field(
        default=30.0,
        description="pause before a refused run is uploaded to the archive again; it doubles at each refusal",
    )
    max_launches: int = Field(
        default=5, description="pods of one segment that may be lost to disruptions before the attempt fails as Lost"
    )
    max_map_size: int = Field(
        default=1024, description="instances that one mapped task may have, unless the Workflow sets spec.maxMapSize"
    )
    map_size_limit: int = Field(default=20_000, description="upper bound of spec.maxMapSize")
    batch: int = Field(default=500, description="TaskRuns and pods of one Workflow that one reconcile pass creates")
    status_interval: float = Field(
        default=1.0, description="least time between two status writes of a running Workflow"
    )
    cooldown_per_taskrun: float = Field(
        default=0.0001,
        description="least time between two reconcile passes of a Workflow for each of its TaskRuns; a pass costs a "
        "few hundredths of a millisecond for each",
    )
    resync: float = Field(default=300.0, description="time between two reconcile passes of a Workflow without events")
    relist_limit: int = Field(
        default=1000,
        ge=0,
        description="TaskRuns or pods up to which a new leader lists all of them again; of more it reads what has "
        "changed, which takes one to three seconds for any number",
    )
    lease_duration: int = Field(default=12, description="seconds until another replica replaces a silent leader")
    hang_cpu: float = Field(
        default=10.0,
        ge=0.0,
        allow_inf_nan=False,
        description="CPU seconds after which a process ends whose event loop is blocked; 0: never",
    )
    hang: Positive = Field(default=30.0, description="seconds after which such a process ends if it uses no CPU")
    state_folder: str = Field(
        default_factory=tempfile.gettempdir,
        description="folder that outlives the process but not the pod, for the object that the operator works on",
    )
    apply_concurrency: int = Field(default=20, description="concurrent writes to the API server")
    namespace_write_rate: Positive = Field(
        default=400.0, description="writes a second for one namespace; further ones wait"
    )
    namespace_write_burst: Positive = Field(default=4000.0, description="writes of one namespace at once")
    namespace_event_rate: Rate = Field(
        default=2.0, description="Kubernetes Events a second for one namespace; further ones are dropped; 0 posts none"
    )
    namespace_event_burst: Positive = Field(
        default=500.0, description="Events of one namespace at once; half of them are for Warnings alone"
    )
    schedule_event_rate: Positive = Field(
        default=20.0,
        description="events a second of the sources of all Schedules of one namespace; the sources wait for their turn",
    )
    schedule_event_burst: Positive = Field(
        default=1000.0, description="events of the Schedules of one namespace at once"
    )
    workflow_concurrency: int = Field(default=6, description="concurrent writes for one Workflow")
    reconcilers: int = Field(default=8, description="Workflows that are reconciled at the same time")

    def pod_defaults(self) -> PodDefaults:
        """The defaults of task pods for what their authors leave open."""
        limits = {"cpu": self.task_cpu_limit, "memory": self.task_memory_limit}
        return PodDefaults(
            user=self.task_user,
            group=self.task_group,
            read_only=self.task_read_only_root,
            scratch=self.task_tmp_size,
            limits={name: limit for name, limit in limits.items() if limit},
            traced=bool(self.otlp_endpoint),
        )
