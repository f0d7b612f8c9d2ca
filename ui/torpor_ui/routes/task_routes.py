"""`api/run/.../task/KEY`: one instance, its result, and its files."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from aiohttp import web
from torpor_client.runs import run_files
from torpor_client.runs.stored_body import ResultDecoder
from torpor_views import json_fields
from torpor_wire.state import State

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.http.context import caller_of, json_response
from torpor_ui.http.download import open_download
from torpor_ui.presentation import results, task_page
from torpor_ui.routes.instance_reader import FoundInstance, InstanceReader
from torpor_ui.routes.run_routes import ARCHIVED, LIVE
from torpor_ui.routes.services import Services


class TaskRoutes:
    """The endpoints of one instance."""

    def __init__(self, services: Services) -> None:
        self._reader = InstanceReader(services)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes. That of the instance comes last, since its key may have slashes."""
        places = [f"{base}/task/{{key:.+}}" for base in (LIVE, ARCHIVED)]
        return [
            *(web.get(f"{place}/result", self.result) for place in places),
            *(web.get(f"{place}/files/{{file}}", self.file) for place in places),
            *(web.get(place, self.show) for place in places),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Return the page of an instance."""
        sources = await self._reader.sources(request)
        return json_response(await asyncio.to_thread(task_page.build, sources))

    async def result(self, request: web.Request) -> web.StreamResponse:
        """Send the result as it arrives from the archive: JSON, or the bytes of a file."""
        found = await self._reader.find(request)
        if found.view.state is not State.SUCCEEDED:
            raise errors.not_found(f"{found.view.ref} has no result: its state is {found.view.word}")
        status = json_fields.fields(found.taskrun.get("status"))
        stored = json_fields.fields(status.get("stored"))
        show = request.query.get("show") == "1"
        headers = results.headers(stored, found.run.name, found.view.ref, show=show).as_dict()
        if not stored:
            text = json_fields.text(status.get("result")) or "null"
            return web.Response(body=text.encode("utf-8", "replace"), headers=headers)
        place = f"results/{_quoted(found.view.uid)}/{_quoted(json_fields.text(stored.get('digest')))}"
        return await _send(request, headers, _body(caller_of(request), found, place, stored))

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Send a file that the task has stored, as it is in the archive."""
        found, name = await self._reader.find(request), request.match_info["file"]
        file = next((each for each in run_files.stored([found.taskrun]) if each.name == name), None)
        if file is None:
            raise errors.not_found(f"{found.view.ref} has stored no file {name[:60]!r}")
        described = {"type": "file", "size": file.size, "digest": file.digest}
        place = f"files/{_quoted(file.taskrun)}/{_quoted(file.name)}/{_quoted(file.digest)}"
        headers = results.file_headers(file.kind, file.name).as_dict()
        return await _send(request, headers, _body(caller_of(request), found, place, described))


def _quoted(part: str) -> str:
    return quote(part, safe="")


async def _body(
    caller: Caller, found: FoundInstance, place: str, stored: Mapping[str, Any]
) -> AsyncGenerator[bytes, None]:
    """What the archive has at a place, checked against its description. Raises ProblemError and UserError."""
    path = f"/namespaces/{_quoted(found.view.namespace)}/{place}"
    decoder = ResultDecoder(stored)
    async with aclosing(caller.archive.chunks(found.view.namespace, path)) as chunks:
        async for chunk in chunks:
            yield decoder.feed(chunk)
    yield decoder.finish()


async def _send(
    request: web.Request, headers: Mapping[str, str], body: AsyncGenerator[bytes, None]
) -> web.StreamResponse:
    """Send a body."""
    async with open_download(request, headers) as file, aclosing(body):
        async for chunk in body:
            await file.write(chunk)
    return file.response
