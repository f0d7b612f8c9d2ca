"""What an installation may set of the archive: by argument, else by environment, else a default. Frozen at start."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

PORT, HEALTH_PORT = 8443, 8081
DATABASE = "sqlite:////data/archive.db"
PATIENCE = 10.0
SWEEP = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One replica. `patience` and `sweep` are in seconds; `namespace` is where its Secret and ConfigMap are."""

    namespace: str = "torpor-system"
    url: str
    port: int = PORT
    health_port: int = HEALTH_PORT
    database: str = DATABASE
    patience: float = PATIENCE
    sweep: float = SWEEP
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
    add("--kubeconfig", default=None, help="which cluster; else $KUBECONFIG, else the pod's own")
    return made


def _url(text: str) -> str:
    found = urlsplit(text)
    if found.scheme != "https" or not found.hostname or found.path.strip("/"):
        raise argparse.ArgumentTypeError(f"{text!r}: write https://host:port")
    return text.rstrip("/")
