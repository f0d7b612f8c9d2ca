"""`api/run/...`: one run, live or archived: its stream, its timeline and its YAML."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import yaml
from aiohttp import web
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_views.model import RunView

from torpor_ui import errors
from torpor_ui.acts.objects import any_workflow
from torpor_ui.acts.table import acts_of
from torpor_ui.cluster.caller import Caller
from torpor_ui.feeds.feed import wait_for_change
from torpor_ui.feeds.run import RunFeed
from torpor_ui.http.context import caller_of, json_response, name_in
from torpor_ui.http.event_stream import HEARTBEAT_SECONDS, EventStream, open_stream
from torpor_ui.presentation import frames
from torpor_ui.presentation.frames import Frame
from torpor_ui.presentation.instances import CachedInstance
from torpor_ui.presentation.keys import RunKey
from torpor_ui.routes.archived_run import ArchivedRun, read_archived_run
from torpor_ui.routes.services import Services

LIVE = "/api/run/live/{namespace}/{name}"
ARCHIVED = "/api/run/archive/{namespace}/{name}"


class RunRoutes:
    """The endpoints of one run."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get(f"{LIVE}/stream", self.stream),
            web.get(f"{LIVE}/timeline", self.timeline),
            web.get(f"{LIVE}/yaml", self.yaml),
            web.get(f"{ARCHIVED}/stream", self.archived_stream),
            web.get(f"{ARCHIVED}/timeline", self.archived_timeline),
            web.get(f"{ARCHIVED}/yaml", self.archived_yaml),
        ]

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send the run, then what changes of it, until it is deleted."""
        woken = asyncio.Event()
        async with open_stream(request) as stream, self._feed(request, woken) as feed:
            acts = await acts_of(self._services.rights, caller_of(request), feed.namespace)
            await _RunViewer(stream, feed, acts).follow(woken)
        return stream.response

    async def timeline(self, request: web.Request) -> web.Response:
        """Return the intervals of all instances, to lay them over those of another run."""
        async with self._feed(request, asyncio.Event()) as feed:
            return await _timeline(await feed.run(), feed.all_instances())

    async def yaml(self, request: web.Request) -> web.Response:
        """Return the Workflow as YAML."""
        namespace, name = name_in(request, "namespace"), name_in(request, "name")
        try:
            workflow = await caller_of(request).api.get(WORKFLOWS, namespace, name)
        except api_errors.NotFound as error:
            raise errors.not_found(f"there is no run {name} in namespace {namespace}") from error
        return await _yaml(workflow)

    async def archived_stream(self, request: web.Request) -> web.StreamResponse:
        """Send an archived run once."""
        async with open_stream(request) as stream:
            run = await self._archived(request)
            acts = await acts_of(self._services.rights, caller_of(request), run.view.namespace)
            await stream.send("snapshot", await asyncio.to_thread(run.snapshot, acts))
            await stream.send("end", {})
        return stream.response

    async def archived_timeline(self, request: web.Request) -> web.Response:
        """Return the intervals of all instances of an archived run."""
        run = await self._archived(request)
        return await _timeline(run.view, run.instances)

    async def archived_yaml(self, request: web.Request) -> web.Response:
        """Return the Workflow of an archived run as YAML."""
        key = RunKey(source="archive", namespace=name_in(request, "namespace"), name=name_in(request, "name"))
        return await _yaml(await any_workflow(caller_of(request), key))

    async def _archived(self, request: web.Request) -> ArchivedRun:
        caller: Caller = caller_of(request)
        return await read_archived_run(caller.archive, name_in(request, "namespace"), name_in(request, "name"))

    @asynccontextmanager
    async def _feed(self, request: web.Request, woken: asyncio.Event) -> AsyncGenerator[RunFeed, None]:
        namespace, name = name_in(request, "namespace"), name_in(request, "name")
        feed = self._services.run(caller_of(request), namespace, name)
        async with feed.viewed(woken):
            yield feed


class _RunViewer:
    """What one viewer of a run has been sent."""

    def __init__(self, stream: EventStream, feed: RunFeed, acts: Mapping[str, object]) -> None:
        self._stream = stream
        self._feed = feed
        self._acts = acts
        self._position = 0
        self._frame: Frame | None = None

    async def follow(self, woken: asyncio.Event) -> None:
        """Send everything, then changes, until the viewer leaves, or the run or the feed ends."""
        await self._send_all()
        while not self._feed.gone:
            if not await wait_for_change(woken, [self._feed], HEARTBEAT_SECONDS):
                await self._stream.heartbeat()
                continue
            await self._send_changes()
        await self._stream.send("gone", {"message": f"the run {self._feed.name} was deleted"})

    async def _send_all(self) -> None:
        self._position, self._frame = self._feed.log.position, self._feed.frame()
        shown = replace(self._frame, more={**self._frame.more, "acts": self._acts})
        chosen = self._feed.all_instances()
        await self._stream.send("snapshot", await asyncio.to_thread(frames.snapshot, shown, chosen))

    async def _send_changes(self) -> None:
        feed, before = self._feed, self._frame
        changes, frame = feed.log.since(self._position), feed.frame()
        if changes is None or before is None:
            await self._send_all()
            return
        self._position, self._frame = feed.log.position, frame
        found = {key: feed.instance(name) for name, key in changes}
        changed = [each for each in found.values() if each is not None]
        gone = [key for key, each in found.items() if each is None]
        content = await asyncio.to_thread(frames.delta, frame, before, changed, gone)
        if content is not None:
            await self._stream.send("delta", content)


async def _timeline(run: RunView, chosen: list[CachedInstance]) -> web.Response:
    ended = run.completed if run.completed is not None else time.time()
    return json_response(await asyncio.to_thread(frames.timeline, run.started or run.created, ended, chosen))


async def _yaml(workflow: object) -> web.Response:
    """Return YAML, which takes a second for a large object, so that a thread writes it."""
    text = await asyncio.to_thread(_dumped, workflow)
    return web.Response(text=text, content_type="text/plain", charset="utf-8")


def _dumped(workflow: object) -> str:
    return yaml.safe_dump(workflow, sort_keys=False, allow_unicode=True)
