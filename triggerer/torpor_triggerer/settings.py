"""The settings of one triggerer replica: from flags, else from the environment, else defaults. Frozen at start."""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import CliSuppress, SettingsConfigDict
from torpor_kubernetes.process_settings import NamespaceName, ProcessSettings
from torpor_wire import constants

from torpor_triggerer.network import addresses

CAPACITY = 20_000
CONCURRENCY = 80
HEALTH_PORT = 8081
EVENT_RATE = 5.0
PROGRESS_RATE = 2.0
MAX_REQUEST_TIMEOUT = 60.0
ANSWER_LIMIT = 1024**2
REQUEST_SECONDS_MAX = 100.0
"""A poll as a whole ends after 120 seconds."""
ANSWER_LIMIT_MIN = 64 * 1024
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def parse_trigger(text: str) -> tuple[str, str]:
    """Split `name=module:Class`, or a class path as Airflow writes it, into name and `module:Class`."""
    name, equals, target = text.strip().partition("=")
    if not equals:
        module, _, cls = name.rpartition(".")
        target = f"{module}:{cls}"
    if not name or not _TARGET.fullmatch(target):
        raise ValueError(
            f"trigger {text!r}: write name=module:Class, package.module.Class, or a rule such as "
            "package.**=module:function"
        )
    return name, target


def _check_trigger(text: str) -> str:
    parse_trigger(text)
    return text


def _check_network(text: str) -> str:
    addresses.parse(text)
    return text


def _normalize_folder(text: str) -> str:
    if not PurePath(text).is_absolute() or ".." in PurePath(text).parts:
        raise ValueError(f"folder {text!r}: write an absolute path without `..`")
    return str(PurePath(text))


def _lease_label(text: str) -> str:
    """Make it a valid part of a Lease name."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-") or "triggerer"


def _default_identity() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


Network = Annotated[str, AfterValidator(_check_network)]
Positive = Annotated[float, Field(ge=1.0, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Settings(ProcessSettings):
    """One replica. Times are in seconds. Suppressed fields are not documented; tests and benchmarks set them."""

    model_config = SettingsConfigDict(cli_prog_name="torpor-triggerer", cli_implicit_flags="toggle")
    variables = {  # noqa: RUF012 - a ClassVar of the base
        "pool": "TORPOR_POOL",
        "namespace": "POD_NAMESPACE",
        "identity": "POD_NAME",
        "capacity": "TORPOR_CAPACITY",
    }
    list_variables = {  # noqa: RUF012
        "trigger": "TORPOR_TRIGGERS",
        "folder": "TORPOR_FOLDERS",
        "namespaces": "TORPOR_NAMESPACES",
        "allow_networks": "TORPOR_ALLOW_NETWORKS",
        "deny_networks": "TORPOR_DENY_NETWORKS",
    }

    pool: str = Field(
        default=constants.DEFAULT_POOL,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="triggerer pool that this process serves (spec.triggerPool)",
    )
    namespace: str = Field(default="torpor-system", description="namespace of the Leases")
    namespaces: tuple[NamespaceName, ...] = Field(
        default=(), description="namespaces that it serves, and no other; repeatable; default: all"
    )
    identity: Annotated[str, AfterValidator(_lease_label)] = Field(
        default_factory=_default_identity, description="name of this replica, unique in the pool"
    )
    capacity: int = Field(default=CAPACITY, ge=1, description="waits that run at the same time; further waits queue")
    lease_duration: int = Field(
        default=15, ge=1, description="seconds until other replicas take over from a silent one"
    )
    health_port: int = Field(
        default=HEALTH_PORT, description="port of /healthz, /livez and /metrics; 0 for any free port"
    )
    event_rate: Rate = Field(default=EVENT_RATE, description="Kubernetes Events per second")
    namespace_write_rate: Positive = Field(
        default=400.0, description="outcomes of waits that are stored a second for one namespace; further ones wait"
    )
    namespace_write_burst: Positive = Field(default=4000.0, description="outcomes of one namespace at once")
    progress_rate: Rate = Field(default=PROGRESS_RATE, description="progress messages on TaskRuns per second")
    trigger: tuple[Annotated[str, AfterValidator(_check_trigger)], ...] = Field(
        default=(),
        description="trigger class as NAME=MODULE:CLASS, or a rule as PACKAGE.**=MODULE:FUNCTION; repeatable",
    )
    folder: tuple[Annotated[str, AfterValidator(_normalize_folder)], ...] = Field(
        default=(), description="directory that waits may read; {namespace} is that of the wait; repeatable"
    )
    lend_identity: bool = Field(
        default=False, description="let waits without credentials use the cloud identity of this pod"
    )
    apart: tuple[str, ...] = Field(default=(), description="trigger class that runs in a thread of its own; repeatable")
    max_request_timeout: float = Field(
        default=MAX_REQUEST_TIMEOUT,
        ge=1.0,
        le=REQUEST_SECONDS_MAX,
        description="upper bound of the timeout of one request",
    )
    answer_limit: int = Field(default=ANSWER_LIMIT, ge=ANSWER_LIMIT_MIN, description="bytes of one response")
    allow_networks: tuple[Network, ...] = Field(default=(), description="networks that waits may reach; repeatable")
    deny_networks: tuple[Network, ...] = Field(default=(), description="networks that waits may not reach; repeatable")
    kubeconfig: str | None = Field(
        default=None, description="kubeconfig file; else $KUBECONFIG, else the pod's ServiceAccount"
    )
    concurrency: CliSuppress[int] = CONCURRENCY
    stop_seconds: CliSuppress[float] = 5.0
    kill_seconds: CliSuppress[float] = 10.0
    look_seconds: CliSuppress[float] = 10.0

    @property
    def lease_renew(self) -> float:
        """Seconds between two renewals of the Lease."""
        return self.lease_duration / 3

    @property
    def triggers(self) -> Mapping[str, str]:
        """The registered trigger classes: name to `module:Class`."""
        return dict(map(parse_trigger, self.trigger))
