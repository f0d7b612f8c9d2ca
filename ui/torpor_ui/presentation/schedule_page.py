"""Schedules as the page shows them: next ticks, last run, queue, and the calendar of the past. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torpor_client.errors import UserError
from torpor_client.runs.run_list import ListedRun
from torpor_client.schedules import calendar, upcoming
from torpor_client.schedules.history import PastRun
from torpor_views import json_fields, tones
from torpor_views.json_fields import Fields, moment, number, text
from torpor_views.tones import Tone
from torpor_wire import constants

from torpor_ui.presentation import run_rows
from torpor_ui.presentation.run_rows import RunRow

Json = dict[str, Any]
TICKS = 10
QUEUE_MAX = 50
RUNS_MAX = 500
_ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})


def rows(schedules: Iterable[Fields], runs: Iterable[RunRow], now: float) -> list[Json]:
    """Return Schedules as rows, those that need a person first. `runs`: the live runs of their namespaces."""
    by_schedule: dict[tuple[str, str], list[RunRow]] = {}
    for run in runs:
        if run.schedule:
            by_schedule.setdefault((run.namespace, run.schedule), []).append(run)
    shown = [row(schedule, by_schedule.get(_key(schedule), ()), now) for schedule in schedules]
    return sorted(shown, key=lambda each: (each["tone"] not in {Tone.BAD, Tone.WARN}, each["namespace"], each["name"]))


def row(schedule: Fields, runs: Sequence[RunRow], now: float, delays: Mapping[str, float] | None = None) -> Json:
    """Return a Schedule as a row. `delays`: the jitter of each source, in seconds. Never raises for its content."""
    namespace, name = _key(schedule)
    spec, status = json_fields.fields(schedule.get("spec")), json_fields.fields(schedule.get("status"))
    ready = _ready(status)
    last = _last_run(status, runs)
    queued = [run for run in runs if constants.LABEL_QUEUED in run.labels and run.state not in _ENDED]
    ticks, problem = _next(schedule, now, delays or {})
    state = last.state if last is not None else ""
    return {
        "namespace": namespace,
        "name": name,
        "template": text(json_fields.fields(spec.get("templateRef")).get("name")),
        "suspended": spec.get("suspend") is True,
        "ready": ready.get("status") != "False",
        "tone": _tone(spec, ready, state),
        "message": json_fields.message_line(ready.get("message")) if ready.get("status") == "False" else problem,
        "sources": [_source(source) for source in json_fields.objects(spec.get("sources"))],
        "next": ticks,
        "last": moment(status.get("last")),
        "lastRun": last.key if last is not None else None,
        "lastState": state,
        "lastTone": tones.of_word(state) if state else Tone.IDLE,
        "active": [run.key for run in runs if run.state not in _ENDED and run not in queued],
        "concurrency": text(spec.get("concurrencyPolicy")) or "Allow",
        "missed": number(json_fields.fields(status.get("missed")).get("count")),
        "skipped": number(status.get("skipped")),
        "started": number(status.get("started")),
        "failed": number(status.get("failed")),
        "queue": [{"at": run.created, "source": "", "text": run.name} for run in queued[:QUEUE_MAX]],
    }


def detail(schedule: Fields, runs: Sequence[RunRow], now: float, delays: Mapping[str, float]) -> Json:
    """Return a Schedule with its past. `runs`: live and archived ones."""
    past = [PastRun(run=_listed(run), at=run.created or 0.0, source="") for run in runs]
    days = calendar.build(schedule, past, now)
    latest = sorted(runs, key=lambda run: -(run.created or 0.0))[:RUNS_MAX]
    live = [run for run in runs if not run.archived]
    status = json_fields.fields(schedule.get("status"))
    return {
        **row(schedule, live, now, delays),
        "calendar": [asdict(day) for day in days],
        "runs": {"columns": run_rows.COLUMNS, "rows": [run.values() for run in latest]},
        "failedEvents": [
            {
                "at": moment(event.get("at")),
                "source": text(event.get("source")),
                "reason": text(event.get("reason")),
                "message": json_fields.message_line(event.get("message")),
            }
            for event in json_fields.objects(status.get("failedEvents"))
        ],
    }


def _key(schedule: Fields) -> tuple[str, str]:
    metadata = json_fields.fields(schedule.get("metadata"))
    return text(metadata.get("namespace")), text(metadata.get("name"))


def _ready(status: Fields) -> Fields:
    return next((each for each in json_fields.objects(status.get("conditions")) if each.get("type") == "Ready"), {})


def _last_run(status: Fields, runs: Sequence[RunRow]) -> RunRow | None:
    """The last run as the status names it, else the latest of the live ones."""
    name = text(json_fields.fields(status.get("lastRun")).get("name"))
    named = next((run for run in runs if run.name == name), None)
    return named or max(runs, key=lambda run: run.created or 0.0, default=None)


def _next(schedule: Fields, now: float, delays: Mapping[str, float]) -> tuple[list[float], str]:
    """The next ticks, and why there are none."""
    spec = json_fields.fields(schedule.get("spec"))
    if not any(source.get("cron") for source in json_fields.objects(spec.get("sources"))):
        return [], ""
    try:
        crons = upcoming.crons(schedule)
        first, end = upcoming.bounds(schedule, now)
        return [tick.start for tick in upcoming.upcoming(crons, first, TICKS, delays, end)], ""
    except (UserError, ValueError, KeyError, TypeError, OverflowError) as error:
        return [], json_fields.one_line(str(error))


def _tone(spec: Fields, ready: Fields, state: str) -> Tone:
    if ready.get("status") == "False" or state == "Failed":
        return Tone.BAD
    if spec.get("suspend") is True:
        return Tone.WARN
    return tones.of_word(state) if state else Tone.QUEUE


def _source(source: Fields) -> Json:
    if cron := text(source.get("cron")):
        return {
            "name": text(source.get("name")),
            "kind": "cron",
            "text": cron,
            "timeZone": text(source.get("timezone")) or "UTC",
        }
    kind = text(json_fields.fields(source.get("trigger")).get("class"))
    return {"name": text(source.get("name")), "kind": "event", "text": kind}


def _listed(run: RunRow) -> ListedRun:
    return ListedRun(
        namespace=run.namespace,
        name=run.name,
        uid=run.uid,
        state=run.state,
        created=run.created or 0.0,
        completed=run.completed,
        archived=run.archived,
    )
