"""The settings of the page in a cluster: from flags, else from the environment, else defaults. Frozen at start."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict
from torpor_kubernetes.process_settings import NamespaceName, ProcessSettings
from torpor_wire.constants import SYSTEM_NAMESPACE, SYSTEM_VARIABLE

from torpor_ui.sessions.oidc_provider import check_issuer


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    plain = parts.hostname in {"127.0.0.1", "localhost"}
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.query or parts.fragment or "%" in text:
        raise ValueError(f"{text!r}: write https://host or https://host/path")
    if parts.scheme == "http" and not plain:
        raise ValueError(f"{text!r}: a browser sends tokens in the clear without https")
    return text.rstrip("/")


Url = Annotated[str, AfterValidator(_check_url)]
Issuer = Annotated[str, AfterValidator(check_issuer)]


class PageSettings(ProcessSettings):
    """Serves the page with the rights of those who look at it. It has none of its own."""

    model_config = SettingsConfigDict(cli_prog_name="torpor-ui")
    variables = {  # noqa: RUF012 - a ClassVar of the base
        "url": "TORPOR_UI_URL",
        "mode": "TORPOR_UI_MODE",
        "system_namespace": SYSTEM_VARIABLE,
    }
    list_variables = {"namespaces": "TORPOR_NAMESPACES"}  # noqa: RUF012

    mode: Literal["proxy", "oidc", "token"] = Field(description="how people log in")
    url: Url = Field(description="address of the page in a browser, such as https://torpor.example.org/page")
    port: int = Field(default=8080, description="port of the page")
    health_port: int = Field(default=8081, description="port of /healthz and /readyz")
    tls_cert: Path | None = Field(default=None, description="certificate of the page; default: a proxy ends TLS")
    tls_key: Path | None = Field(default=None, description="key of the certificate")
    read_only: bool = Field(default=False, description="show everything and change nothing")
    namespaces: tuple[NamespaceName, ...] = Field(default=(), description="namespaces to show first; repeatable")
    system_namespace: NamespaceName = Field(
        default=SYSTEM_NAMESPACE, description="namespace of the installation whose archive and triggerers are shown"
    )
    session_secret: Path | None = Field(
        default=None, description="file with the secret of sessions; default: sessions end with the process"
    )
    session_hours: int = Field(default=12, ge=1, le=168, description="hours after which a person logs in again")
    api_url: str = Field(default="", description="address of the API server; default: that of the cluster")
    api_ca: Path | None = Field(default=None, description="certificate authority of the API server")
    proxy_cidr: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(), description="addresses of the authenticating proxy, such as 10.0.0.0/8; repeatable"
    )
    proxy_header: str = Field(default="Authorization", description="header in which the proxy sends the token")
    oidc_issuer: Issuer | None = Field(default=None, description="issuer of tokens that the API server accepts")
    oidc_client_id: str = Field(default="", description="client at the issuer")
    oidc_client_secret: Path | None = Field(default=None, description="file with the secret of the client")
    oidc_scopes: str = Field(default="openid email groups offline_access", description="scopes of the login")
    oidc_ca: Path | None = Field(default=None, description="certificate authority of the issuer")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "proxy" and not self.proxy_cidr:
            raise ValueError("--mode proxy needs --proxy-cidr: the header counts only from these addresses")
        if self.mode == "oidc" and not (self.oidc_issuer and self.oidc_client_id):
            raise ValueError("--mode oidc needs --oidc-issuer and --oidc-client-id")
        if bool(self.tls_cert) != bool(self.tls_key):
            raise ValueError("--tls-cert and --tls-key belong together")
        return self

    @property
    def base(self) -> str:
        """The path before all paths, without a slash at its end."""
        return urlsplit(self.url).path

    @property
    def origin(self) -> str:
        """The origin of the page."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.lower()}"

    @property
    def secure(self) -> bool:
        """Whether browsers reach the page by https."""
        return self.url.startswith("https:")
