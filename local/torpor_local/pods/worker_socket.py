"""Serves the API server in memory to the processes of pods: HTTP/1.1 on a Unix domain socket.

Only the user of the run can open the socket, because its folder is private. So requests need no credentials, and a task
can write what the operator can; a local run does not separate them (ADR 0039).
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from torpor_kubernetes.client.transport import JSON, Transport

_BODY_MAX = 4 * 1024**2


@asynccontextmanager
async def serve(transport: Transport, path: Path) -> AsyncIterator[None]:
    """Serve requests at a path of at most 100 bytes, which macOS and Linux accept."""

    async def respond(request: web.Request) -> web.Response:
        body = await _body(request)
        query: Mapping[str, str] = dict(request.query)
        answer = await transport.request(request.method, request.path, query=query, body=body)
        return web.Response(status=answer.status, body=json.dumps(answer.body).encode(), content_type=JSON)

    app = web.Application(client_max_size=_BODY_MAX)
    app.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.UnixSite(runner, path).start()
        yield
    finally:
        await runner.cleanup()


async def _body(request: web.Request) -> Any:
    content = await request.read()
    return json.loads(content) if content else None
