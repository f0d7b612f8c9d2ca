"""Pauses, resumes and runs Schedules, and creates Backfills."""

import asyncio
import time
import uuid
from itertools import islice
from typing import Any, Literal

from torpor_client.changes import commands, effects, operations, schedule_changes
from torpor_client.changes.schedule_changes import RequestProgress
from torpor_client.errors import UserError
from torpor_client.schedules import moments, upcoming
from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Object
from torpor_kubernetes.client.resources import BACKFILLS, SCHEDULES, WORKFLOWS
from torpor_wire.enums import Rerun

from torpor_ui import errors
from torpor_ui.acts import objects
from torpor_ui.acts.act import ActOutcome, ActPreview, each
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller
from torpor_ui.presentation.keys import ScheduleKey

_PAUSE_S = 0.3
_CONCURRENCY_MAX = 100
TICKS_MAX = 10_000
"""Ticks of a Backfill that a preview counts."""


class SuspendScheduleAct:
    """Sets `spec.suspend` of Schedules."""

    right = Right.CHANGE_SCHEDULES

    def __init__(self, verb: Literal["pause", "resume"]) -> None:
        self._verb = verb

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what happens to the Schedules."""
        _check_some(request)
        sentences: list[str] = []
        by_namespace: dict[str, list[str]] = {}
        for key in request.schedules:
            await _schedule(caller, key)
            sentences += effects.of_schedule(key.name, self._verb)
            by_namespace.setdefault(key.namespace, []).append(key.name)
        lines = [commands.of_schedules(self._verb, namespace, names) for namespace, names in by_namespace.items()]
        return ActPreview(effects=tuple(sentences), command="\n".join(lines))

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Set the field."""
        _check_some(request)
        value = self._verb == "pause"

        async def changed(key: ScheduleKey) -> str:
            item = await _schedule(caller, key)
            if bool(item["spec"].get("suspend")) != value:
                await objects.change(caller, SCHEDULES, item, lambda _: operations.set_field("suspend", value))
            return f"{key.name} {'paused' if value else 'resumed'}"

        return await each(request.schedules, changed)


class RunScheduleAct:
    """Starts a run of a Schedule now."""

    right = Right.CHANGE_SCHEDULES

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what starts."""
        key = request.only_schedule()
        await _schedule(caller, key)
        command = commands.of_schedules("run", key.namespace, [key.name], request.params())
        return ActPreview(effects=effects.of_schedule(key.name, "run"), command=command)

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Ask the operator for a run, and wait until it has created it."""
        key = request.only_schedule()
        text = schedule_changes.value(uuid.uuid4().hex, request.params())
        before = await _schedule(caller, key)
        before = await objects.change(caller, SCHEDULES, before, lambda item: schedule_changes.request(item, text))
        name = schedule_changes.run_name(before, text)
        await self._await(caller, key, before, text, name)
        return ActOutcome(done=(f"{name} created",), created=f"live/{key.namespace}/{name}")

    @staticmethod
    async def _await(caller: Caller, key: ScheduleKey, before: Object, text: str, name: str) -> None:
        """Wait for the run. Raises ProblemError if the operator creates none."""
        ends, why = time.monotonic() + schedule_changes.LIMIT_S, schedule_changes.late()
        handled = False
        while time.monotonic() < ends:
            if await _exists(caller, key.namespace, name):
                return
            progress = schedule_changes.progress(await _schedule(caller, key), before, text)
            if isinstance(progress, str):
                raise errors.cannot(f"schedule {key.name} {progress}")
            if progress is RequestProgress.HANDLED and not handled:
                handled, why = True, schedule_changes.silent(before)
                ends = min(ends, time.monotonic() + schedule_changes.GRACE_S)
            await asyncio.sleep(_PAUSE_S)
        raise errors.cannot(why)


class BackfillAct:
    """Creates the runs of a Schedule for the ticks of a period."""

    right = Right.CREATE_BACKFILLS

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return the ticks of the period."""
        key, spec = request.only_schedule(), _backfill_spec(request)
        ticks = await asyncio.to_thread(_ticks, await _schedule(caller, key), spec)
        return ActPreview(
            effects=effects.of_backfill(ticks, spec, TICKS_MAX), command=commands.backfill(key.namespace, spec)
        )

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Create the Backfill."""
        key, spec = request.only_schedule(), _backfill_spec(request)
        upcoming.crons(await _schedule(caller, key), spec.get("source"))
        created = await caller.api.create(BACKFILLS, key.namespace, schedule_changes.backfill(spec))
        return ActOutcome(done=(f"backfill {created['metadata']['name']} created",))


def _backfill_spec(request: ActRequest) -> dict[str, Any]:
    """Return the spec of a Backfill. Raises ProblemError and UserError."""
    first, last = moments.parse(request.text("from"), "from"), moments.parse(request.text("to"), "to")
    if first >= last:
        raise UserError("from must be before to")
    concurrency = request.fields.get("concurrency", 1)
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or not 1 <= concurrency <= _CONCURRENCY_MAX:
        raise errors.invalid(f"concurrency must be a number from 1 to {_CONCURRENCY_MAX}")
    rerun = request.text("rerun") or Rerun.MISSING.value
    matching = next((each.value for each in Rerun if each.value.lower() == rerun.lower()), None)
    if matching is None:
        raise errors.invalid(f"rerun must be one of {', '.join(each.value for each in Rerun)}")
    return schedule_changes.backfill_spec(
        request.only_schedule().name,
        first,
        last,
        source=request.text("source") or None,
        reverse=request.fields.get("reverse") is True,
        concurrency=concurrency,
        rerun=matching,
        params=request.params(),
    )


def _ticks(schedule: Object, spec: dict[str, Any]) -> list[upcoming.UpcomingTick]:
    crons = upcoming.crons(schedule, spec.get("source"))
    start, end = moments.parse(spec["from"], "from"), moments.parse(spec["to"], "to")
    return list(islice(upcoming.between(crons, start, end), TICKS_MAX + 1))


async def _schedule(caller: Caller, key: ScheduleKey) -> Object:
    """Return a Schedule. Raises ProblemError."""
    try:
        return await caller.api.get(SCHEDULES, key.namespace, key.name)
    except api_errors.NotFound as error:
        raise errors.not_found(f"there is no schedule {key.name} in namespace {key.namespace}") from error


async def _exists(caller: Caller, namespace: str, name: str) -> bool:
    try:
        await caller.api.get(WORKFLOWS, namespace, name)
    except api_errors.NotFound:
        return False
    return True


def _check_some(request: ActRequest) -> None:
    if not request.schedules:
        raise errors.invalid("name at least one schedule")
