"""Schedules and Backfills as rows of a table, and what started a run. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_views import json_fields
from torpor_wire import times

from torpor_client.schedules import moments


def origin_of(run_of: Mapping[str, Any]) -> str:
    """Return what started a run: a source, a Backfill, several sources, or a user."""
    match run_of:
        case {"backfill": str() as backfill}:
            return f"backfill {backfill}"
        case {"source": str() as source}:
            return source
        case {"event": str()}:
            return "allOf"
        case {"schedule": _}:
            return "manual"
        case _:
            return ""


def origin_sentence(workflow: Mapping[str, Any]) -> str:
    """Return what started a run and its template, empty for a run that has neither."""
    spec = workflow.get("spec") or {}
    run_of, template = spec.get("runOf") or {}, (spec.get("templateRef") or {}).get("name")
    parts = []
    if run_of:
        at = moments.shown(run_of.get("at"))
        parts.append(f"started by schedule {run_of.get('schedule')} ({origin_of(run_of)}) for {at}")
    if template:
        parts.append(f"created from template {template}")
    return "; ".join(parts)


SCHEDULE_HEAD = ("NAME", "NEXT", "LAST", "ACTIVE", "QUEUED", "FAILED", "SUSPENDED", "LAST-RUN")
SCHEDULE_WIDE = ("STARTED", "SKIPPED", "MISSED", "READY", "SOURCES")
BACKFILL_HEAD = ("NAME", "SCHEDULE", "FROM", "TO", "STATE", "PROGRESS", "ACTIVE", "FAILED", "AGE")
BACKFILL_WIDE = ("PASSED", "STARTED", "SUCCEEDED", "RERUN", "CONCURRENCY")


def schedule_row(item: Mapping[str, Any], *, wide: bool = False) -> list[str]:
    """Return the cells of a Schedule."""
    status = item.get("status") or {}
    row = [item["metadata"]["name"], moments.shown(status.get("next")), moments.shown(status.get("last"))]
    row += [_count(status, "active"), _count(status, "queued"), _count(status, "failed"), suspended(item)]
    row.append(str((status.get("lastRun") or {}).get("name") or ""))
    if wide:
        missed = str((status.get("missed") or {}).get("count") or 0)
        row += [_count(status, "started"), _count(status, "skipped"), missed, ready(status)]
        row.append(", ".join(source_text(source) for source in item["spec"].get("sources") or ()))
    return row


def backfill_row(item: Mapping[str, Any], now: float, *, wide: bool = False) -> list[str]:
    """Return the cells of a Backfill. `now` is in seconds since the epoch."""
    spec, status = item["spec"], item.get("status") or {}
    created = json_fields.moment(item["metadata"].get("creationTimestamp"))
    row = [item["metadata"]["name"], str(spec.get("schedule") or "")]
    row += [moments.shown(spec.get("from")), moments.shown(spec.get("to")), state_of_backfill(item)]
    row += [str(status.get("progress") or ""), _count(status, "active"), _count(status, "failed")]
    row.append("" if created is None else times.human(now - created))
    if wide:
        row += [_count(status, each) for each in ("passed", "started", "succeeded")]
        row += [str(spec.get("rerun") or ""), str(spec.get("concurrency") or "")]
    return row


def state_of_backfill(item: Mapping[str, Any]) -> str:
    """Return the state of a Backfill. One that the operator has not observed is Pending."""
    return str((item.get("status") or {}).get("state") or "Pending")


def suspended(item: Mapping[str, Any]) -> str:
    """Return `true` or `false`, as kubectl prints it."""
    return str(bool(item["spec"].get("suspend"))).lower()


def ready(status: Mapping[str, Any]) -> str:
    """Return the condition Ready: its status, and the reason unless events start runs."""
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    verdict = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    word = str(verdict.get("status") or "")
    return word if word in {"", "True"} else f"{word}: {verdict.get('reason') or ''}".rstrip(": ")


def source_text(source: Mapping[str, Any]) -> str:
    """Return a source as `NAME (0 2 * * * Europe/Berlin)` or `NAME (redis)`."""
    what = (source.get("cron"), source.get("timezone"), (source.get("trigger") or {}).get("class"))
    return f"{source.get('name')} ({' '.join(filter(None, what))})"


def _count(status: Mapping[str, Any], field: str) -> str:
    return str(status.get(field) or 0)
