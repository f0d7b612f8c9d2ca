"""Ports for servers that tests start."""

import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path

_LOCKS = Path(tempfile.gettempdir()) / f"torpor-tests-ports-{os.getuid()}"


def free_port() -> int:
    """A port of loopback that nothing listens on, and that no other process of tests gets while this one runs.

    Below the ports that the system itself assigns: such a one could be taken by any connection before the server is up.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        try:
            _lock(port)
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


def _lock(port: int) -> None:
    """Lock a port until this process ends. Raises OSError if another process has it."""
    _LOCKS.mkdir(exist_ok=True)
    descriptor = os.open(_LOCKS / str(port), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
