"""The settings of one triggerer replica: from flags, else from the environment, else defaults. Frozen at start."""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    CliSettingsSource,
    CliSuppress,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)
from torpor_wire import constants

from torpor_triggerer.network import addresses

CAPACITY = 20_000
CONCURRENCY = 64
HEALTH_PORT = 8081
EVENT_RATE = 5.0
PROGRESS_RATE = 2.0
MAX_REQUEST_TIMEOUT = 60.0
ANSWER_LIMIT = 1024**2
REQUEST_SECONDS_MAX = 100.0
"""A poll as a whole ends after 120 seconds."""
ANSWER_LIMIT_MIN = 64 * 1024
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_VALUES = {"pool": "TORPOR_POOL", "namespace": "POD_NAMESPACE", "identity": "POD_NAME", "capacity": "TORPOR_CAPACITY"}
_LISTS = {
    "trigger": "TORPOR_TRIGGERS",
    "folder": "TORPOR_FOLDERS",
    "allow_networks": "TORPOR_ALLOW_NETWORKS",
    "deny_networks": "TORPOR_DENY_NETWORKS",
}
"""The environment variables of flags. Repeatable flags add to the list in their variable."""


def parse_trigger(text: str) -> tuple[str, str]:
    """Split `name=module:Class`, or a class path as Airflow writes it, into name and `module:Class`."""
    name, equals, target = text.strip().partition("=")
    if not equals:
        module, _, cls = name.rpartition(".")
        target = f"{module}:{cls}"
    if not name or not _TARGET.fullmatch(target):
        raise ValueError(f"trigger {text!r}: write name=module:Class, or package.module.Class")
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
Rate = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Settings(BaseSettings):
    """One replica. Times are in seconds, `namespace` is where the Leases are. Each field is a flag.

    The constructor reads neither flags nor the environment: see `parse`. Suppressed fields are not documented; tests
    and benchmarks set them.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        coerce_numbers_to_str=True,  # the library reads an item of a list as JSON first
        cli_prog_name="torpor-triggerer",
        cli_kebab_case=True,
        cli_implicit_flags="toggle",
    )

    pool: str = Field(
        constants.DEFAULT_POOL,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="triggerer pool that this process serves (spec.triggerPool)",
    )
    namespace: str = Field("torpor-system", description="namespace of the Leases")
    identity: Annotated[str, AfterValidator(_lease_label)] = Field(
        default_factory=_default_identity, description="name of this replica, unique in the pool"
    )
    capacity: int = Field(CAPACITY, ge=1, description="waits that run at the same time; further waits queue")
    lease_duration: int = Field(15, ge=1, description="seconds until other replicas take over from a silent one")
    health_port: int = Field(HEALTH_PORT, description="port of /healthz, /livez and /metrics; 0 for any free port")
    event_rate: Rate = Field(EVENT_RATE, description="Kubernetes Events per second")
    progress_rate: Rate = Field(PROGRESS_RATE, description="progress messages on TaskRuns per second")
    trigger: tuple[Annotated[str, AfterValidator(_check_trigger)], ...] = Field(
        (), description="trigger class to register, as NAME=MODULE:CLASS; repeatable"
    )
    folder: tuple[Annotated[str, AfterValidator(_normalize_folder)], ...] = Field(
        (), description="directory that waits may read; {namespace} stands for theirs; repeatable"
    )
    lend_identity: bool = Field(False, description="let waits without credentials use the cloud identity of this pod")
    apart: tuple[str, ...] = Field((), description="trigger class that runs in a thread of its own; repeatable")
    max_request_timeout: float = Field(
        MAX_REQUEST_TIMEOUT, ge=1.0, le=REQUEST_SECONDS_MAX, description="upper bound of the timeout of one request"
    )
    answer_limit: int = Field(ANSWER_LIMIT, ge=ANSWER_LIMIT_MIN, description="bytes of one response")
    allow_networks: tuple[Network, ...] = Field((), description="networks that waits may reach; repeatable")
    deny_networks: tuple[Network, ...] = Field((), description="networks that waits may not reach; repeatable")
    kubeconfig: str | None = Field(None, description="kubeconfig file; else $KUBECONFIG, else the pod's ServiceAccount")
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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature, as the next three
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only the arguments of the constructor."""
        return (init_settings,)


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Read the settings of this process. Exits with a usage message if they are invalid."""
    try:
        command_line: CliSettingsSource[Any] = CliSettingsSource(Settings, cli_parse_args=list(arguments))
    except SettingsError as error:
        raise SystemExit(f"torpor-triggerer: error: {error}") from error
    flags = command_line()
    values = {name: environ[variable] for name, variable in _VALUES.items() if environ.get(variable)}
    lists = {name: (*_split(environ.get(variable, "")), *flags.get(name, ())) for name, variable in _LISTS.items()}
    try:
        return Settings(**{**values, **flags, **lists})
    except ValidationError as error:
        problems = (f"--{str(one['loc'][0]).replace('_', '-')}: {one['msg']}" for one in error.errors())
        command_line.root_parser.error("; ".join(problems))
        raise  # for mypy: the parser has exited


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text) if part]
