"""`api/schedules`: Schedules, their next ticks and their past."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

from aiohttp import web
from torpor_client.schedules import upcoming
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_wire import constants, names

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError
from torpor_ui.http.context import caller_of, json_response, name_in
from torpor_ui.presentation import run_rows, schedule_page
from torpor_ui.presentation.run_rows import RunRow
from torpor_ui.routes.scope import Scope, scope_of
from torpor_ui.routes.services import Services

_SCHEDULES_MAX = 2000
_ARCHIVE_PAGES = 4
_PAGE = 500


class ScheduleRoutes:
    """The endpoints of Schedules."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/api/schedules", self.show_all),
            web.get("/api/schedules/{namespace}/{name}", self.show),
        ]

    async def show_all(self, request: web.Request) -> web.Response:
        """Return the Schedules of namespaces with their next ticks."""
        caller, scope = caller_of(request), await scope_of(request, self._services)
        schedules: list[Object] = []
        for namespace in scope.namespaces:
            schedules += (await caller.api.list(SCHEDULES, namespace)).items
        runs = await self._live_runs(caller, scope) if schedules else []
        shown = await asyncio.to_thread(schedule_page.rows, schedules[:_SCHEDULES_MAX], runs, time.time())
        return json_response(shown)

    async def show(self, request: web.Request) -> web.Response:
        """Return a Schedule with its runs, live and archived, and its calendar."""
        caller = caller_of(request)
        namespace, name = name_in(request, "namespace"), name_in(request, "name")
        try:
            schedule = await caller.api.get(SCHEDULES, namespace, name)
        except api_errors.NotFound as error:
            raise errors.not_found(f"there is no schedule {name} in namespace {namespace}") from error
        runs, notes = await _runs(caller, namespace, name)
        delays = await _delays(caller, schedule)
        shown = await asyncio.to_thread(schedule_page.detail, schedule, runs, time.time(), delays)
        return json_response(shown | {"notes": notes})

    async def _live_runs(self, caller: Caller, scope: Scope) -> Sequence[RunRow]:
        """The live runs of the namespaces, which the list of runs watches, too."""
        async with AsyncExitStack() as stack:
            feeds = [self._services.run_list(caller, namespace) for namespace in scope.namespaces]
            for feed in feeds:
                await stack.enter_async_context(feed.viewed(asyncio.Event()))
            return [row for feed in feeds for row in feed.rows()]


async def _runs(caller: Caller, namespace: str, schedule: str) -> tuple[list[RunRow], list[str]]:
    """The runs of a Schedule, and what is missing."""
    labels = f"{constants.LABEL_SCHEDULE}={names.label(schedule)}"
    page = await caller.api.list(WORKFLOWS, namespace, label_selector=labels)
    rows = [run_rows.live(item) for item in page.items]
    known, token = {row.uid for row in rows}, ""
    try:
        for _ in range(_ARCHIVE_PAGES):
            query = {"labels": labels, "limit": str(_PAGE)} | ({"continue": token} if token else {})
            items, token = await caller.archive.runs(namespace, query)
            rows += [row for row in map(run_rows.archived, items) if row.uid not in known]
            if not token:
                break
    except ProblemError as error:
        return rows, [f"only live runs are shown: {error.problem.message}"]
    return rows, []


async def _delays(caller: Caller, schedule: Object) -> dict[str, float]:
    """The jitter of each source, which its TaskRun has; none if the caller may not read TaskRuns."""
    metadata = schedule["metadata"]
    labels = f"{constants.LABEL_SCHEDULE}={names.label(metadata['name'])}"
    try:
        page = await caller.api.list(TASKRUNS, metadata["namespace"], label_selector=labels)
    except api_errors.ApiError:
        return {}
    own = [item for item in page.items if (item["spec"].get("schedule") or {}).get("uid") == metadata["uid"]]
    return upcoming.delays(own)
