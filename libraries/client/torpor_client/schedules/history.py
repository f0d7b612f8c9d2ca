"""The runs that a Schedule has started, and the events that started none. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_views import json_fields
from torpor_wire import times

from torpor_client.runs import run_list
from torpor_client.runs.run_list import ListedRun
from torpor_client.schedules import listing, moments

HEAD = ("NAME", "AT", "SOURCE", "STATE", "DURATION", "IN")
FAILED_HEAD = ("AT", "SOURCE", "REASON", "MESSAGE")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run with the event that started it. `at` is in seconds since the epoch."""

    run: ListedRun
    at: float
    source: str

    def row(self) -> list[str]:
        """Return the cells of HEAD."""
        duration = "" if self.run.duration is None else times.human(self.run.duration)
        place = "archive" if self.run.archived else "cluster"
        return [self.run.name, moments.stamp(self.at), self.source, self.run.state, duration, place]

    def as_json(self) -> dict[str, Any]:
        """Return the run for `-o json`."""
        run = self.run
        fields: dict[str, Any] = {"name": run.name, "at": moments.stamp(self.at), "source": self.source}
        fields |= {"state": run.state, "created": moments.stamp(run.created)}
        if run.completed is not None:
            fields |= {"completed": moments.stamp(run.completed), "seconds": run.duration}
        return fields | {"archived": run.archived}


def live(workflow: Mapping[str, Any]) -> PastRun:
    """Return the entry of a Workflow of the cluster."""
    return _past(run_list.live(workflow), workflow)


def archived(item: Mapping[str, Any], workflow: Mapping[str, Any] | None) -> PastRun:
    """Return the entry of a run that the archive lists, with its Workflow if that could be read."""
    return _past(run_list.archived(item), workflow or {})


def merged(live_runs: Iterable[PastRun], archived_runs: Iterable[PastRun], limit: int) -> Sequence[PastRun]:
    """Return the runs of the latest events first, at most `limit`. A run that both have is one of the cluster."""
    by_uid = {past.run.uid: past for past in archived_runs} | {past.run.uid: past for past in live_runs}
    return sorted(by_uid.values(), key=lambda past: (-past.at, -past.run.created, past.run.name))[:limit]


def failed_rows(status: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of the events that failed, the latest first."""
    events = sorted(status.get("failedEvents") or (), key=lambda event: str(event.get("at") or ""), reverse=True)
    return [
        [moments.shown(event.get("at")), *(str(event.get(field) or "") for field in ("source", "reason", "message"))]
        for event in events
    ]


def remarks(spec: Mapping[str, Any], status: Mapping[str, Any]) -> list[str]:
    """Return sentences on the events and ticks that started no run."""
    sentences = []
    if skipped := status.get("skipped"):
        sentences.append(f"{_counted(skipped, 'event')} skipped: {' or '.join(_causes(spec))}")
    missed = status.get("missed") or {}
    if count := missed.get("count"):
        sentences.append(
            f"{_counted(count, 'tick')} missed, the last one {moments.shown(missed.get('last')) or 'unknown'}"
        )
    return sentences


def _causes(spec: Mapping[str, Any]) -> list[str]:
    """Return why a Schedule with this spec skips events. The status counts them without their causes."""
    causes = {
        "a run was active (concurrencyPolicy Forbid)": spec.get("concurrencyPolicy") == "Forbid",
        "`when` was false": spec.get("when"),
        "`within` of allOf had passed": spec.get("within"),
    }
    return [cause for cause, possible in causes.items() if possible] or ["by an earlier spec of the schedule"]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _past(run: ListedRun, workflow: Mapping[str, Any]) -> PastRun:
    run_of = (workflow.get("spec") or {}).get("runOf") or {}
    at = json_fields.moment(run_of.get("at"))
    return PastRun(run=run, at=run.created if at is None else at, source=listing.origin_of(run_of))
