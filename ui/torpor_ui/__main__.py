"""`python -m torpor_ui`: serves the page in a cluster until SIGTERM."""

import asyncio
import logging
import os
import signal
import ssl
import sys

from aiohttp import web
from torpor_kubernetes import log_setup
from torpor_kubernetes.client import endpoint
from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_kubernetes.client.http import open_transport

from torpor_ui import app, login
from torpor_ui.http.listener import listening
from torpor_ui.http.security import Origins
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.settings import PageSettings

log = logging.getLogger("torpor_ui")


async def serve(settings: PageSettings) -> None:
    """Serve until a signal arrives. Raises OSError for files and ports."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    secret = ServerSecret(*_secrets(settings))
    async with open_transport(_cluster(settings), program="torpor-ui") as transport:
        page = app.build(
            transport,
            login.build(settings, secret),
            Origins(origins=frozenset({settings.origin})),
            secret=secret,
            base=settings.base,
            read_only=settings.read_only,
            namespaces=settings.namespaces,
            system=settings.system_namespace,
        )
        async with listening(page, settings.port, _tls(settings)), listening(_health(), settings.health_port):
            log.info("serving %s on port %d, login by %s", settings.url, settings.port, settings.mode)
            await stopping.wait()


def main() -> int:
    """Run the process and return its exit code."""
    settings = PageSettings.parse(sys.argv[1:], os.environ)
    log_setup.configure("%(asctime)s %(levelname)s %(name)s: %(message)s", settings.log_format, component="page")
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # it logs what a client sends that is no HTTP
    try:
        asyncio.run(serve(settings))
    except (OSError, ValueError) as error:
        log.error("%s", error)  # noqa: TRY400 - a wrong setting, not a bug
        return 1
    return 0


def _cluster(settings: PageSettings) -> ClusterEndpoint:
    """The API server without credentials: each request gets those of its caller."""

    async def nobody() -> str | None:
        return None

    host = settings.api_url.rstrip("/") or endpoint.address_in_pod(os.environ)
    ca = settings.api_ca or endpoint.SERVICE_ACCOUNT / "ca.crt"
    tls = endpoint.tls_context(str(ca)) if host.startswith("https:") else None
    return ClusterEndpoint(host=host, tls=tls, authorization=nobody)


def _secrets(settings: PageSettings) -> list[bytes]:
    """The secrets of the file, one a line: the first one seals, the others still open older sessions."""
    if settings.session_secret is None:
        return []
    secrets = [line for line in settings.session_secret.read_bytes().splitlines() if line.strip()]
    if not secrets or min(map(len, secrets)) < 16:  # noqa: PLR2004
        raise ValueError(f"{settings.session_secret} needs a secret of 16 bytes or more in each line")
    return secrets


def _tls(settings: PageSettings) -> ssl.SSLContext | None:
    if settings.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return context


def _health() -> web.Application:
    async def healthy(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    application = web.Application()
    application.add_routes([web.get("/healthz", healthy), web.get("/readyz", healthy)])
    return application


if __name__ == "__main__":
    sys.exit(main())
