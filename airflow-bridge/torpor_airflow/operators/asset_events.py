"""Events of assets in a run: those that a task reports for its outlets, and those that started the run. Pure.

What a task reports is data of a program: it names assets of any URI, and a Schedule compares them as texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow.sdk.api.datamodels._generated import AssetEventDagRunReference, AssetReferenceAssetEventDagRun
from torpor import TaskFailed
from torpor_wire import canonical

EVENTS_MAX = 20
BYTES_MAX = 2_000
"""Of the events of a task: they are part of its result and of the result of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetEvent:
    """An event of an asset. `run` and `at` are those of the producer, as far as they are known."""

    name: str
    uri: str
    extra: Mapping[str, Any]
    run: str | None = None
    at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the event for the result of a task."""
        return {"name": self.name, "uri": self.uri, "extra": dict(self.extra)}


def build_events(outlets: Iterable[Any], reported: Iterable[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the events of a task that succeeded: one for each outlet, and one for each asset of an alias.

    `outlets` are assets; `reported` is what Airflow's task runner sends of `outlet_events`. Raises TaskFailed for an
    extra that is not JSON, for too many events, and for too large ones.
    """
    events = {(each.name, each.uri): AssetEvent(name=each.name, uri=each.uri, extra={}) for each in outlets}
    for each in reported or ():
        key = each["dest_asset_key"]
        event = AssetEvent(name=key["name"], uri=key["uri"], extra=each.get("extra") or {})
        if (event.name, event.uri) in events or "source_alias_name" in each:
            events[event.name, event.uri] = event
    size = sum(map(_size, events.values()))
    if len(events) > EVENTS_MAX or size > BYTES_MAX:
        raise TaskFailed(
            f"the task reports {len(events)} events of assets with {size} bytes; "
            f"up to {EVENTS_MAX} with {BYTES_MAX} bytes are possible"
        )
    return [each.to_json() for each in events.values()]


def _size(event: AssetEvent) -> int:
    """Return the bytes of an event. Raises TaskFailed for an extra that is not an object of JSON."""
    try:
        return len(canonical.plain(event.to_json(), "event").encode())
    except (TypeError, ValueError) as error:
        raise TaskFailed(f"the extra of the asset {event.name:.100} cannot be stored: {error}") from error


def parse(given: object) -> Sequence[AssetEvent]:
    """Return the events of the argument `asset_events`. Raises ValueError."""
    if not isinstance(given, list | tuple) or len(given) > EVENTS_MAX:
        raise ValueError(f"asset_events must be a list of at most {EVENTS_MAX} events")
    return [_parse(each) for each in given]


def _parse(given: object) -> AssetEvent:
    match given:
        case {"name": str() as name, "uri": str() as uri, "extra": Mapping() as extra, **others}:
            run, at = others.get("run"), others.get("at")
            moment = None if at is None else datetime.fromisoformat(str(at))
            return AssetEvent(name=name, uri=uri, extra=extra, run=None if run is None else str(run), at=moment)
        case _:
            raise ValueError("an event of asset_events must be an object with name, uri and extra")


def consumed(events: Iterable[AssetEvent], now: datetime) -> list[AssetEventDagRunReference]:
    """Return the events that started a run as Airflow's API sends them. One without a time is of `now`."""
    return [
        AssetEventDagRunReference(
            asset=AssetReferenceAssetEventDagRun(name=each.name, uri=each.uri, extra={}),
            extra=dict(each.extra),
            source_task_id=None,
            source_dag_id=None,
            source_run_id=each.run,
            source_map_index=-1,
            source_aliases=[],
            timestamp=each.at or now,
        )
        for each in events
    ]
