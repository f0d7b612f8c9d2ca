"""What an installation may set of the archive: by argument, else by environment, else a default. Frozen at start."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from torpor_archive.http.connections import ConnectionLimits
from torpor_archive.storage.quota import QUOTA
from torpor_archive.storage.transfer_rate import RATE

PORT, HEALTH_PORT = 8443, 8081
DATABASE = "sqlite:////data/archive.db"
PATIENCE = 10.0
SWEEP = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One replica. `patience` and `sweep` are in seconds; `namespace` is where its Secret and ConfigMap are.

    `rate` is the least number of bytes a second of an upload, `quota` the most bytes that a namespace keeps.
    """

    namespace: str = "torpor-system"
    url: str
    port: int = PORT
    health_port: int = HEALTH_PORT
    database: str = DATABASE
    patience: float = PATIENCE
    sweep: float = SWEEP
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    rate: int = RATE
    quota: int = QUOTA
    kubeconfig: str | None = None

    @property
    def host(self) -> str:
        """What its certificate is for."""
        return urlsplit(self.url).hostname or ""


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings of this process; exits with a usage message where they cannot be understood."""
    given = parser(environ).parse_args(arguments)
    return Settings(
        namespace=given.namespace,
        url=given.url or f"https://torpor-archive.{given.namespace}.svc:{PORT}",
        port=given.port,
        health_port=given.health_port,
        database=environ.get("DATABASE_URL") or DATABASE,
        patience=given.database_patience,
        sweep=given.sweep_interval,
        connections=ConnectionLimits(
            total=given.max_connections,
            per_address=given.max_connections_per_address,
            idle=given.idle_timeout,
        ),
        rate=given.min_upload_rate,
        quota=given.namespace_quota,
        kubeconfig=given.kubeconfig,
    )


def parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="torpor-archive",
        description="Keeps large results and finished runs in the database that $DATABASE_URL names.",
    )
    add = made.add_argument
    namespace = environ.get("POD_NAMESPACE", "torpor-system")
    add("--namespace", default=namespace, help="where its Secret and ConfigMap are")
    add("--url", type=_url, default=None, help="what it publishes as its address; else that of its Service")
    add("--port", type=int, default=PORT, help="where it serves, by TLS")
    add("--health-port", type=int, default=HEALTH_PORT, help="where /healthz, /readyz and /metrics are")
    add("--database-patience", type=float, default=PATIENCE, help="seconds for which a transaction is repeated")
    add("--sweep-interval", type=float, default=SWEEP, help="seconds between looks for what nobody needs any more")
    limits = ConnectionLimits()
    add("--max-connections", type=_count, default=limits.total, help="open connections")
    add(
        "--max-connections-per-address",
        type=_count,
        default=limits.per_address,
        help="open connections from one address",
    )
    add(
        "--idle-timeout",
        type=float,
        default=limits.idle,
        help="seconds for the TLS handshake, for a whole request head, and between requests",
    )
    add("--min-upload-rate", type=int, default=RATE, help="bytes a second; a slower upload is cut off")
    add(
        "--namespace-quota", type=_bytes, default=QUOTA, help="bytes of results, and of runs, of a namespace; 0 for all"
    )
    add("--kubeconfig", default=None, help="which cluster; else $KUBECONFIG, else the pod's own")
    return made


def _count(text: str) -> int:
    found = int(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: write a number from 1 on")
    return found


def _bytes(text: str) -> int:
    """Bytes, as a number or with one of Kubernetes' suffixes Ki, Mi, Gi, Ti."""
    for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti"), start=1):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) << 10 * power
    return int(text)


def _url(text: str) -> str:
    found = urlsplit(text)
    if found.scheme != "https" or not found.hostname or found.path.strip("/"):
        raise argparse.ArgumentTypeError(f"{text!r}: write https://host:port")
    return text.rstrip("/")
