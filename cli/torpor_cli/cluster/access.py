"""How to reach a cluster, and as whom: what a context of a kubeconfig says. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Pem:
    """A certificate or key: as bytes, or as a path whose content may change."""

    data: bytes | None = None
    path: Path | None = None

    def read(self) -> bytes:
        """Return the PEM text. Raises OSError."""
        return self.data if self.data is not None else self.path.read_bytes() if self.path else b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEndpoint:
    """An API server, and what its certificate must show."""

    url: str
    ca: Pem | None = None
    insecure: bool = False
    server_name: str | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymous:
    """No credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A client certificate with its key."""

    certificate: Pem
    key: Pem


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A bearer token."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A file with a bearer token, which another process renews."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """A user name and a password."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A program that prints an ExecCredential."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = "client.authentication.k8s.io/v1"
    interactive: bool = True
    install_hint: str = ""
    cluster: Mapping[str, object] | None = None


Login: TypeAlias = Anonymous | Certificate | Token | TokenFile | Basic | ExecPlugin


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A server, a login and the namespace to use."""

    server: ServerEndpoint
    login: Login
    namespace: str = "default"
    context: str = ""
    """Name of the context; empty in a pod."""
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return words for messages: the context, or the server."""
        return f"context {self.context}" if self.context else self.server.url
