"""Where the API server is, and with which credentials: from a kubeconfig, or from the service account of a pod.

The configuration is found as in client-go: a named kubeconfig, else $KUBECONFIG, else the pod's service account, else
~/.kube/config. A service account token is read again when the kubelet may have renewed it; an exec plugin runs again
before its token expires.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torpor_kubernetes.client import errors

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS = 60.0
PLUGIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEndpoint:
    """The API server and the credentials.

    `authorization` returns the Authorization header, or None. `renew` obtains other credentials after a 401, and
    returns whether it did. `has_certificate`: the TLS context has one of the client. `fields` are further
    headers of each request, such as those of an impersonation.
    """

    host: str
    tls: ssl.SSLContext | None
    authorization: Callable[[], Awaitable[str | None]]
    renew: Callable[[], Awaitable[bool]] | None = None
    fields: tuple[tuple[str, str], ...] = ()
    server_name: str | None = None
    proxy: str | None = None
    has_certificate: bool = False


async def find_cluster(kubeconfig: str | None) -> ClusterEndpoint:
    """Return the cluster of a kubeconfig, or of the environment. Raises `errors.Unconfigured`."""
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if not path and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(SERVICE_ACCOUNT, os.environ)
    return await _from_kubeconfig(path or str(Path.home() / ".kube" / "config"))


def _in_cluster(folder: Path, environ: Mapping[str, str]) -> ClusterEndpoint:
    try:
        tls = tls_context(str(folder / "ca.crt"))
        token = _TokenFile(folder / "token")
    except (OSError, ValueError) as exc:
        raise errors.Unconfigured(f"cannot use the pod's service account in {folder}: {exc}") from exc
    return ClusterEndpoint(host=address_in_pod(environ), tls=tls, authorization=token.authorization)


def address_in_pod(environ: Mapping[str, str]) -> str:
    """Return the URL of the API server, as the environment of a pod has it. Raises KeyError outside of a pod."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class _TokenFile:
    """A token file that the kubelet renews."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read()

    def _read(self) -> None:
        self._token = self._path.read_text().strip()
        self._read_at = time.monotonic()

    async def authorization(self) -> str:
        if time.monotonic() - self._read_at >= TOKEN_SECONDS:
            self._read()
        return f"Bearer {self._token}"


async def _from_kubeconfig(path: str) -> ClusterEndpoint:
    # Imported here because it takes 1.5 s and 50 MB, and pods do not need it.
    from kubernetes_asyncio.client import Configuration  # noqa: PLC0415
    from kubernetes_asyncio.config import ConfigException, load_kube_config  # noqa: PLC0415

    if not _exists(path):
        raise errors.Unconfigured(f"there is no kubeconfig at {path}; name one, or set KUBECONFIG")
    configuration = Configuration()
    try:
        async with asyncio.timeout(PLUGIN_SECONDS):
            loader = await load_kube_config(config_file=path, client_configuration=configuration, persist_config=False)
        tls = tls_context(
            configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file, verify=configuration.verify_ssl
        )
    except Exception as exc:  # the loader validates little, so a broken file raises any exception
        raise errors.Unconfigured(f"cannot use the kubeconfig {path}: {type(exc).__name__}: {exc}") from exc

    async def authorization() -> str | None:
        if hasattr(loader, "exec_plugin_expiry"):
            try:
                async with asyncio.timeout(PLUGIN_SECONDS):
                    await loader.load_from_exec_plugin()
            except (ConfigException, OSError, ValueError, TimeoutError) as exc:
                raise errors.Unreachable(f"the exec plugin of {path} returned no token: {exc}") from exc
        return getattr(loader, "token", None)

    return ClusterEndpoint(
        host=str(configuration.host),
        tls=tls if str(configuration.host).startswith("https") else None,
        authorization=authorization,
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        has_certificate=bool(configuration.cert_file),
    )


def _exists(path: str) -> bool:
    return any(Path(part).expanduser().exists() for part in path.split(os.pathsep) if part)


def tls_context(
    ca: str | None, certificate: str | None = None, key: str | None = None, *, verify: bool = True
) -> ssl.SSLContext:
    """Return the context for an API server with this CA (a path), and for this client certificate (paths)."""
    context = ssl.create_default_context(cafile=ca)
    # Python 3.13 enables this flag; the CAs of many clusters lack the key identifier that it requires.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context
