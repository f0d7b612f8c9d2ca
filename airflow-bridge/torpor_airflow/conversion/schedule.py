"""The schedule of a DAG as a Schedule. It reads Airflow's timetables, and imports none of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from torpor_wire import typed_json

from torpor_airflow.conversion import asset_events, names

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_CRON = {"CronTriggerTimetable", "CronDataIntervalTimetable", "CronPartitionTimetable"}
_INTERVAL = {"DeltaTriggerTimetable", "DeltaDataIntervalTimetable"}
_WITH_DATA_INTERVALS = {"CronDataIntervalTimetable", "DeltaDataIntervalTimetable"}
_DAY = 86_400
_RUNS_MAX = 1_000
_END_OF_RUN = "workflow"
LABEL_SCHEDULE = "torpor.dev/schedule"
LABEL_DAG = "airflow-dag"
"""The label of runs that only a user starts, for DAGs that follow one of their assets."""


@dataclass(slots=True, kw_only=True)
class DagSchedule:
    """The spec of a Schedule without its template, and what of the schedule has no counterpart.

    `asset_sources` are the URIs of assets by the names of the sources whose events list what a run has updated.
    """

    spec: dict[str, Any] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    asset_sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_sources(self) -> bool:
        """Whether anything starts runs."""
        return bool(self.spec.get("sources"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetProducer:
    """A DAG whose tasks update an asset, and whether a Schedule starts its runs."""

    dag_id: str
    is_scheduled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimetableKey:
    """What two timetables must share for the same data intervals. `expression`: a cron expression or a duration."""

    kind: str
    expression: str
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagTicks:
    """The names of the cron sources of a DAG, and the timetable if a logical date starts a data interval."""

    sources: Sequence[str]
    intervals: TimetableKey | None

    @property
    def has_ticks(self) -> bool:
        """Whether cron sources start runs."""
        return bool(self.sources)

    @property
    def has_intervals(self) -> bool:
        """Whether a logical date is the start of a data interval."""
        return self.intervals is not None


def ticks(dag: Any) -> DagTicks:
    """Return what the logical dates of a DAG are."""
    sources = convert(dag, {}).spec.get("sources") or ()
    found = [str(source["name"]) for source in sources if "cron" in source]
    return DagTicks(sources=found, intervals=_intervals(dag.timetable))


def _intervals(timetable: Any) -> TimetableKey | None:
    """Return the key of a timetable with data intervals, None for one without them."""
    kind = type(timetable).__name__
    if kind not in _WITH_DATA_INTERVALS:
        return None
    if kind in _INTERVAL:
        return TimetableKey(kind=kind, expression=str(timetable.delta))
    expression = _PRESETS.get(timetable.expression, " ".join(timetable.expression.split()))
    return TimetableKey(kind=kind, expression=expression, zone=_zone(timetable.timezone))


Producers = Mapping[str, Sequence[AssetProducer]]
"""The DAGs that update an asset, by its URI."""


def convert(dag: Any, producers: Producers) -> DagSchedule:
    """Return the Schedule of a DAG."""
    found = DagSchedule()
    timetable = dag.timetable
    match type(timetable).__name__:
        case "NullTimetable" | "PartitionedAtRuntime":
            pass  # only a user or a task starts its runs
        case "OnceTimetable":
            found.notes.append("schedule @once: create a Workflow of the template")
        case "AssetTriggeredTimetable":
            _assets(found, timetable.asset_condition, producers)
        case "AssetOrTimeSchedule":
            found.spec["sources"] = list(_ticks(found, timetable.timetable))
            _assets(found, timetable.asset_condition, producers)
        case "MultipleCronTriggerTimetable":
            each = getattr(timetable, "timetables", None) or getattr(timetable, "_timetables", [])
            found.spec["sources"] = [
                {**source, "name": f"cron_{number}"} for number, one in enumerate(each) for source in _ticks(found, one)
            ]
        case "EventsTimetable":
            found.losses.append("an EventsTimetable: create the runs, or write cron sources")
        case _:
            found.spec["sources"] = list(_ticks(found, timetable))
    if found.has_sources:
        _limits(found, dag)
    elif dag.is_paused_upon_creation:
        found.notes.append("is_paused_upon_creation: there is no Schedule to suspend")
    if "Partition" in type(timetable).__name__:
        found.notes.append("partitions: a run has none; a task that reads partition_key is a loss of its own")
    return found


def _ticks(found: DagSchedule, timetable: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the cron source of a timetable."""
    kind = type(timetable).__name__
    if kind in _CRON:
        yield {"name": "cron", "cron": _cron(timetable.expression, found), "timezone": _zone(timetable.timezone)}
    elif kind in _INTERVAL:
        expression = _even(timetable.delta)
        if expression is None:
            found.losses.append(f"an interval of {timetable.delta}, which no cron expression has")
        else:
            found.notes.append(f"the interval of {timetable.delta} counts from midnight UTC, not from start_date")
            yield {"name": "interval", "cron": expression}
    elif kind == "ContinuousTimetable":
        yield {"name": "continuous", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
    else:
        found.losses.append(f"the timetable {kind}")


def _cron(expression: str, found: DagSchedule) -> str:
    cron = _PRESETS.get(expression, expression)
    fields = cron.split()
    if len(fields) == 6:  # noqa: PLR2004 - seconds come last in Airflow
        found.notes.append(f"seconds come first in Torpor: {cron}")
        return " ".join((fields[5], *fields[:5]))
    if len(fields) == 5 and any("*" in fields[index] for index in (2, 4)) and "/" in fields[2] + fields[4]:  # noqa: PLR2004
        found.notes.append(f"{cron}: days must match both fields in Torpor, one of them in Airflow")
    return cron


def _zone(zone: Any) -> str:
    return str(getattr(zone, "name", None) or getattr(zone, "key", None) or zone)


def _even(delta: Any) -> str | None:
    """Return the cron expression of an interval that divides the day."""
    seconds = delta.total_seconds() if isinstance(delta, timedelta) else 0
    if seconds == _DAY:
        return "0 0 * * *"
    if seconds == 7 * _DAY:
        return "0 0 * * 0"
    if seconds >= 3600 and seconds % 3600 == 0 and _DAY % seconds == 0:  # noqa: PLR2004
        return f"0 */{int(seconds // 3600)} * * *"
    if seconds >= 60 and seconds % 60 == 0 and 3600 % seconds == 0:  # noqa: PLR2004
        return f"*/{int(seconds // 60)} * * * *"
    return None


def _limits(found: DagSchedule, dag: Any) -> None:
    """Add the first and the last date, missed ticks, and the limits of active runs."""
    spec = found.spec
    for name, moment in (("notBefore", dag.start_date), ("notAfter", dag.end_date)):
        if isinstance(moment, datetime):
            spec[name] = moment.isoformat()
    if dag.catchup:
        spec["missed"] = {"run": "All", "within": "90d"}
        found.notes.append("catchup: create a Backfill for the ticks before the Schedule exists")
    spec["concurrencyPolicy"] = "Queue"
    spec["maxActive"] = max(1, min(int(dag.max_active_runs or 16), _RUNS_MAX))
    if (dag.max_active_runs or 0) > _RUNS_MAX:
        found.notes.append(f"max_active_runs {dag.max_active_runs}: at most {_RUNS_MAX}")
    if dag.is_paused_upon_creation:
        spec["suspend"] = True
        found.notes.append("is_paused_upon_creation: remove suspend before you apply the Schedule again")
    if dag.max_consecutive_failed_dag_runs:
        spec["pauseAfterFailures"] = int(dag.max_consecutive_failed_dag_runs)


def _assets(found: DagSchedule, condition: Any, producers: Producers) -> None:
    """Add the sources of the assets: the end of a run of each DAG that updates one, or the trigger of its watcher."""
    named = [*_named(condition)]
    by_asset = {each.name: _asset(found, each, producers) for each in named if hasattr(each, "uri")}
    if any(not hasattr(each, "uri") for each in named):
        found.losses.append("an asset alias, which is known only when a task runs")
    sources = [source for several in by_asset.values() for source in several]
    found.spec["sources"] = [*found.spec.get("sources", []), *sources]
    if any(hasattr(each, "objects") for each in getattr(condition, "objects", ())):
        found.losses.append("assets that are joined by both & and |")
    elif type(condition).__name__ == "AssetAll" and len(by_asset) > 1:
        if any(len(several) > 1 for several in by_asset.values()):
            found.losses.append("assets that are joined by &, one of which several DAGs update")
        found.spec["allOf"] = [source["name"] for source in sources]
        found.notes.append("assets that are joined by &: each run of their DAGs that succeeds counts")
        return
    uris = {each.name: each.uri for each in named if hasattr(each, "uri")}
    _choose_events(found, {source["name"]: uris[name] for name, several in by_asset.items() for source in several})


def _choose_events(found: DagSchedule, uris: Mapping[str, str]) -> None:
    """Let the end of a run count only if a task of it has updated the asset. `uris` are by the names of the sources."""
    ends = {each["name"] for each in found.spec["sources"] if each.get("trigger", {}).get("class") == _END_OF_RUN}
    found.asset_sources = {name: uri for name, uri in uris.items() if name in ends}
    condition = asset_events.when(found.asset_sources)
    if condition is not None:
        found.spec["when"] = condition
    elif found.asset_sources:
        found.notes.append("many assets: each run of their DAGs that succeeds counts")


def _named(condition: Any) -> Iterator[Any]:
    """Yield the assets and aliases of a condition."""
    if not hasattr(condition, "objects"):
        yield condition
        return
    for each in condition.objects:
        yield from _named(each)


def _asset(found: DagSchedule, asset: Any, producers: Producers) -> list[Mapping[str, Any]]:
    watchers = [_watcher(found, asset.name, watcher) for watcher in getattr(asset, "watchers", ())]
    updating = producers.get(asset.uri, ())
    if not watchers and not updating:
        found.losses.append(f"the asset {asset.name}: no DAG of this conversion updates it")
    return [*watchers, *(_chained(found, asset.name, each) for each in updating)]


def _chained(found: DagSchedule, asset_name: str, producer: AssetProducer) -> Mapping[str, Any]:
    """Return the source that fires at the end of a run of the producer."""
    name = names.object_name(producer.dag_id)
    label = LABEL_SCHEDULE if producer.is_scheduled else LABEL_DAG
    if not producer.is_scheduled:
        found.notes.append(f"asset {asset_name}: create the runs of {name} with the label {LABEL_DAG}: {name}")
    kwargs = {"labels": {label: name}, "state": "succeeded"}
    return {
        "name": _source_name(f"{asset_name}_of_{producer.dag_id}"),
        "trigger": {"class": _END_OF_RUN, "kwargs": kwargs},
    }


def _watcher(found: DagSchedule, asset_name: str, watcher: Any) -> Mapping[str, Any]:
    trigger = watcher.trigger
    if isinstance(trigger, Mapping):
        path, kwargs = trigger["classpath"], trigger["kwargs"]
    else:
        path, kwargs = trigger.serialize()
    found.notes.append(f"asset {asset_name}: the pool of the source needs the class {path}")
    return {
        "name": _source_name(watcher.name),
        "trigger": {"class": path, "kwargs": typed_json.encode(dict(kwargs))},
        "triggerPool": "airflow",
    }


def _source_name(name: str) -> str:
    return next(iter(names.task_names([name]).values()))
