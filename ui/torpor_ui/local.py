"""`torpor ui`: the page on this machine, with the credentials of the user who starts it."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass

from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_kubernetes.client.http import open_transport
from torpor_wire.constants import SYSTEM_NAMESPACE

from torpor_ui import app
from torpor_ui.cluster.transport import CallerTransport
from torpor_ui.http.listener import listening
from torpor_ui.http.security import Origins
from torpor_ui.sessions.local import LocalLogin

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """The options of `torpor ui`. Port 0 is any free one. `namespace` is shown first.

    `system` is the namespace of the installation.
    """

    port: int = 0
    namespace: str = "default"
    system: str = SYSTEM_NAMESPACE
    read_only: bool = False
    open_browser: bool = True


async def serve(cluster: ClusterEndpoint, options: LocalOptions, announce: Callable[[str], object]) -> None:
    """Serve a cluster until cancelled. `announce` gets each link. Raises OSError if the port is taken."""
    async with open_transport(cluster, program="torpor-ui") as transport:
        await serve_transport(transport, options, announce)


async def serve_transport(transport: CallerTransport, options: LocalOptions, announce: Callable[[str], object]) -> None:
    """Serve what a transport reads until cancelled. `announce` gets each link. Raises OSError if the port is taken."""
    with socket.create_server((HOST, options.port)) as listener:
        listener.setblocking(False)
        number = listener.getsockname()[1]
        origin = f"http://{HOST}:{number}"
        login = LocalLogin(origin, announce)
        origins = Origins(origins=frozenset({origin, f"http://localhost:{number}"}))
        application = app.build(
            transport,
            login,
            origins,
            read_only=options.read_only,
            namespaces=(options.namespace,),
            system=options.system,
        )
        async with listening(application, listener):
            announce(login.link)
            if options.open_browser:
                await asyncio.to_thread(webbrowser.open, login.link)
            await asyncio.Event().wait()
