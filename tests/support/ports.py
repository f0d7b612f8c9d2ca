"""Ports for servers that tests start."""

import secrets
import socket


def free_port() -> int:
    """A port of loopback that nothing listens on.

    Below the ports that the system itself assigns: such a one could be taken by any connection before the server is up.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
