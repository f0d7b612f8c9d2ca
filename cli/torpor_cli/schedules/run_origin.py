"""What started a run: the field `runOf` of its spec. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_cli.schedules import moments


def source_of(run_of: Mapping[str, Any]) -> str:
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


def sentence(workflow: Mapping[str, Any]) -> str:
    """Return what started a run and its template, empty for a run that has neither."""
    spec = workflow.get("spec") or {}
    run_of, template = spec.get("runOf") or {}, (spec.get("templateRef") or {}).get("name")
    parts = []
    if run_of:
        at = moments.shown(run_of.get("at"))
        parts.append(f"started by schedule {run_of.get('schedule')} ({source_of(run_of)}) for {at}")
    if template:
        parts.append(f"created from template {template}")
    return "; ".join(parts)
