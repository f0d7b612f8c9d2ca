"""Reads one instance with what belongs to it: live from the API server, or from the archive."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import EVENTS, PODS, TASKRUNS, WORKFLOWS
from torpor_views.facts import Facts
from torpor_views.instance import InstanceView
from torpor_views.model import RunView
from torpor_wire import constants, names

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.feeds.run import RunFeed
from torpor_ui.http.context import caller_of, name_in
from torpor_ui.presentation import keys
from torpor_ui.presentation.keys import InstanceKey, RunKey
from torpor_ui.presentation.task_page import TaskSources
from torpor_ui.routes.services import Services

_ARCHIVED_EVENTS_MAX = 5000
_NAMES_MAX = 6
"""Objects of an instance whose Events are read: its TaskRun and its latest pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInstance:
    """A TaskRun with its run. `facts` is None if they have not been read."""

    run: RunView
    taskrun: Object
    view: InstanceView
    facts: Facts | None
    events: Sequence[Object] = ()
    archived: bool = False


def key_of(request: web.Request) -> tuple[RunKey, InstanceKey]:
    """Return what a path names. Raises ProblemError."""
    source = "archive" if "/api/run/archive/" in request.path else "live"
    run = RunKey(source, name_in(request, "namespace"), name_in(request, "name"))
    return run, keys.instance_key(request.match_info["key"])


class InstanceReader:
    """Finds instances."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, request: web.Request) -> FoundInstance:
        """Return the instance that a path names. Raises ProblemError."""
        run, key = key_of(request)
        caller = caller_of(request)
        return await (self._archived(caller, run, key) if run.source == "archive" else self._live(caller, run, key))

    async def sources(self, request: web.Request) -> TaskSources:
        """Return what the page of an instance is built from."""
        found, caller = await self.find(request), caller_of(request)
        pods: list[Object] = []
        events, facts = list(found.events), found.facts
        if not found.archived:
            pods = await _pods(caller, found.view)
            events = await _events(caller, found.view, pods)
        if facts is None:
            facts = Facts.parse(pods=pods, events=events)
        return TaskSources(
            run=found.run,
            taskrun=found.taskrun,
            facts=facts,
            pods=pods,
            events=events,
            now=time.time(),
            archived=found.archived,
        )

    @asynccontextmanager
    async def feed(self, request: web.Request) -> AsyncGenerator[RunFeed, None]:
        """The feed of the live run that a path names."""
        async with self._feed(caller_of(request), key_of(request)[0]) as feed:
            yield feed

    async def _live(self, caller: Caller, run: RunKey, key: InstanceKey) -> FoundInstance:
        """Read one TaskRun. Its run comes from the feed if somebody looks at it, else without its other TaskRuns.

        A run can have 10,000 of them, and only a few causes name others.
        """
        view, facts = await self._run(caller, run)
        name = _name(view, key)
        if name is None:
            raise _missing(run, key)
        try:
            taskrun = await caller.api.get(TASKRUNS, run.namespace, name)
        except api_errors.NotFound as error:
            raise _missing(run, key) from error
        own = InstanceView.parse(taskrun)
        if facts is None:
            view = view.with_instances([own])
        return FoundInstance(run=view, taskrun=taskrun, view=own, facts=facts)

    async def _run(self, caller: Caller, run: RunKey) -> tuple[RunView, Facts | None]:
        """The run with its TaskRuns and facts, or without both."""
        feed = self._services.known_run(caller, run.namespace, run.name)
        if feed is not None and feed.page is not None:
            return await feed.run(), feed.facts()
        try:
            workflow = await caller.api.get(WORKFLOWS, run.namespace, run.name)
        except api_errors.NotFound as error:
            raise errors.not_found(f"there is no run {run.name} in namespace {run.namespace}") from error
        return RunView.parse(workflow, now=time.time()), None

    @asynccontextmanager
    async def _feed(self, caller: Caller, run: RunKey) -> AsyncGenerator[RunFeed, None]:
        """The feed of a run, which whoever looks at the instance looks at, too."""
        feed = self._services.run(caller, run.namespace, run.name)
        async with feed.viewed(asyncio.Event()):
            yield feed

    @staticmethod
    async def _archived(caller: Caller, run: RunKey, key: InstanceKey) -> FoundInstance:
        """Read the archived run to its end, and keep what belongs to the instance."""
        workflow: Object | None = None
        taskrun: Object | None = None
        events: list[Object] = []
        async with aclosing(caller.archive.run(run.namespace, run.name)) as objects:
            async for item in objects:
                match item.get("kind"):
                    case "Workflow":
                        workflow = item
                    case "TaskRun":
                        view = InstanceView.parse(item)
                        taskrun = item if (view.task, view.path) == (key.task, key.path) else taskrun
                    case "Event" if len(events) < _ARCHIVED_EVENTS_MAX:
                        events.append(item)
        if workflow is None or taskrun is None:
            raise _missing(run, key)
        own = InstanceView.parse(taskrun)
        return FoundInstance(
            run=RunView.parse(workflow, now=time.time()).with_instances([own]),
            taskrun=taskrun,
            view=own,
            facts=Facts(),
            events=[event for event in events if _concerns(event, own)],
            archived=True,
        )


def _name(run: RunView, key: InstanceKey) -> str | None:
    """The name of the TaskRun of an instance; None if the run has no such task, or not at this depth."""
    known = next((each for each in run.instances_of(key.task) if each.path == key.path), None)
    if known is not None:
        return known.name
    task = run.task(key.task)
    if task is None or len(key.path) != len(task.groups) + task.mapped:
        return None
    groups = key.path[: len(task.groups)]
    return names.taskrun(run.name, run.uid, key.task, key.path[-1] if task.mapped else constants.UNMAPPED, groups)


async def _pods(caller: Caller, view: InstanceView) -> list[Object]:
    """The pods of an instance that exist; none if the caller may not list them."""
    selector = f"{constants.LABEL_TASKRUN_UID}={view.uid}"
    try:
        return (await caller.api.list(PODS, view.namespace, label_selector=selector)).items
    except api_errors.ApiError:
        return []


async def _events(caller: Caller, view: InstanceView, pods: Sequence[Object]) -> list[Object]:
    """The Events on a TaskRun and its latest pods; those that the caller may read."""
    about = [view.name, view.pod_name, *(str(pod["metadata"]["name"]) for pod in reversed(pods))]
    chosen = list(dict.fromkeys(about))[:_NAMES_MAX]

    async def named(name: str) -> list[Object]:
        try:
            selector = f"regarding.name={name}"
            return (await caller.api.list(EVENTS, view.namespace, field_selector=selector)).items
        except api_errors.ApiError:
            return []

    return [event for events in await asyncio.gather(*map(named, chosen)) for event in events]


def _concerns(event: Any, view: InstanceView) -> bool:
    regarding = event.get("regarding") or event.get("involvedObject") or {}
    name = str(regarding.get("name") or "")
    return name == view.name or name.startswith(f"{view.name}-a")


def _missing(run: RunKey, key: InstanceKey) -> errors.ProblemError:
    return errors.not_found(f"run {run.name} has no instance {key.ref}", "It may not have started yet.")
