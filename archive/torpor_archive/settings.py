"""The settings of one archive replica: from flags, else from the environment, else defaults. Frozen at start."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import CliSuppress, SettingsConfigDict
from torpor_kubernetes.process_settings import NamespaceName, ProcessSettings

from torpor_archive.http.connections import ConnectionLimits
from torpor_archive.limits.transfer_rate import RATE
from torpor_archive.storage import run_retention
from torpor_archive.storage.quota import QUOTA
from torpor_archive.storage.run_retention import Keep, RunRetention

PORT = 8443
_LIMITS = ConnectionLimits()


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"{text!r}: write https://host:port")
    return text.rstrip("/")


def _parse_quantity(text: str | int) -> str | int:
    """Bytes, as a number or with a suffix of Kubernetes: Ki, Mi, Gi, Ti."""
    for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti"), start=1):
        if isinstance(text, str) and text.endswith(suffix) and text.removesuffix(suffix).isdecimal():
            return int(text.removesuffix(suffix)) << 10 * power
    return text


def _check_age(text: str) -> str:
    run_retention.parse_age(text)
    return text


def _check_override(text: str) -> str:
    run_retention.parse_override(text, Keep())
    return text


Age = Annotated[str, AfterValidator(_check_age)]
Override = Annotated[str, AfterValidator(_check_override)]
Url = Annotated[str, AfterValidator(_check_url)]
Quantity = Annotated[int, BeforeValidator(_parse_quantity), Field(ge=0)]


class ArchiveSettings(ProcessSettings):
    """Keeps large results and finished runs in the database that $DATABASE_URL names. Times are in seconds."""

    model_config = SettingsConfigDict(cli_prog_name="torpor-archive")
    variables = {"namespace": "POD_NAMESPACE", "database": "DATABASE_URL"}  # noqa: RUF012 - a ClassVar of the base
    list_variables = {"namespaces": "TORPOR_NAMESPACES"}  # noqa: RUF012

    namespace: str = Field(default="torpor-system", description="namespace of its Secret and ConfigMap")
    namespaces: tuple[NamespaceName, ...] = Field(
        default=(), description="namespaces that it serves, and no other; repeatable; default: all"
    )
    url: Url | None = Field(default=None, description="published address, https://host:port; else that of its Service")
    port: int = Field(default=PORT, description="port of the API, with TLS")
    health_port: int = Field(default=8081, description="port of /healthz, /readyz and /metrics")
    database: CliSuppress[str] = "sqlite:////data/archive.db"
    retry_timeout: float = Field(default=10.0, description="how long a transaction is retried")
    sweep_interval: float = Field(
        default=600.0, description="pause between two deletions of data that is no longer needed"
    )
    keep: Age = Field(default="90d", description="how long a finished run is kept after its completion; 0: forever")
    keep_runs: int = Field(default=0, ge=0, description="finished runs that a namespace keeps, the latest; 0: all")
    keep_namespace: tuple[Override, ...] = Field(
        default=(), description="both for one namespace, such as team=30d/500, team=30d or team=/500; repeatable"
    )
    max_connections: int = Field(default=_LIMITS.total, ge=1, description="open connections")
    max_connections_per_address: int = Field(
        default=_LIMITS.per_address, ge=1, description="open connections from one address"
    )
    idle_timeout: float = Field(
        default=_LIMITS.idle, description="limit for the TLS handshake, for a request head, and between two requests"
    )
    max_connections_per_namespace: int = Field(
        default=_LIMITS.per_share,
        ge=1,
        description="requests in progress of the pods of a namespace, of its readers, or of another user",
    )
    min_download_rate: int = Field(default=RATE, description="bytes per second; a slower download is aborted")
    min_upload_rate: int = Field(default=RATE, description="bytes per second; a slower upload is aborted")
    namespace_quota: Quantity = Field(
        default=QUOTA, description="bytes of results, of runs, and of logs, that a namespace may keep; 0: no limit"
    )
    objects: str = Field(
        default="",
        description="object store for whole logs and for files of tasks, such as s3://bucket/prefix; empty: the start "
        "and end of logs, and files in the database",
    )
    kubeconfig: str | None = Field(
        default=None, description="kubeconfig file; else $KUBECONFIG, else the pod's ServiceAccount"
    )

    @property
    def run_retention(self) -> RunRetention:
        """Which finished runs are kept."""
        return RunRetention.parse(self.keep, self.keep_runs, self.keep_namespace)

    @property
    def published_url(self) -> str:
        """The address that clients get."""
        return self.url or f"https://torpor-archive.{self.namespace}.svc:{PORT}"

    @property
    def host(self) -> str:
        """The host name in its certificate."""
        return urlsplit(self.published_url).hostname or ""

    @property
    def connections(self) -> ConnectionLimits:
        """The limits of the listener."""
        return ConnectionLimits(
            total=self.max_connections,
            per_address=self.max_connections_per_address,
            per_share=self.max_connections_per_namespace,
            idle=self.idle_timeout,
        )
