"""Listens for the archive, and starts it with the first connection: most runs have no large result."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from torpor_kubernetes.client.api import Api

_BACKLOG = 64
_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def serve(api: Api, path: Path, file: Path) -> AsyncIterator[None]:
    """Listen at a path inside the block. `file` is the database."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        serving = asyncio.create_task(_serve_when_wanted(api, listening, file))
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def _serve_when_wanted(api: Api, listening: socket.socket, file: Path) -> None:
    loop, wanted = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listening, wanted.set)
    try:
        await wanted.wait()
    finally:
        loop.remove_reader(listening)
    try:
        archive = await asyncio.to_thread(import_module, "torpor_local.archive")
        await archive.serve(api, listening, file)
    except Exception:  # noqa: BLE001 - a task boundary: the run goes on without large results
        _LOG.exception("the archive ended; no task can store a large result")
