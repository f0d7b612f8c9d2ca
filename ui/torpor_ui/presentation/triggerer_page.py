"""Triggerers as the page shows them: replicas by their Leases and metrics, pools, and statistics of waits. Pure."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_views import json_fields
from torpor_views.json_fields import Fields, moment, text
from torpor_views.waiting.wait_statistics import PoolWaits, WaitStatistics
from torpor_wire import constants

Json = dict[str, Any]
_SAMPLE = re.compile(r"^(torpor_[a-z_]{1,60})(?:\{([^}]{0,300})\})? ([0-9.e+-]{1,30})$", re.ASCII)
_SAMPLES_MAX = 5000
_SECONDS = re.compile(r"(\d+(?:\.\d+)?) s\b", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaMetrics:
    """What a replica says of itself. `loop_lag`: how late its event loop was on average, in seconds."""

    shards: int = 0
    waits: int = 0
    loop_lag: float | None = None
    blocked: Mapping[str, int] = field(default_factory=dict)
    """How often a trigger class blocked its event loop."""


def parse_metrics(body: str) -> ReplicaMetrics:
    """Return the metrics of a replica from the text format of Prometheus. What is not understood is left out."""
    sums: dict[str, float] = {}
    blocked: dict[str, int] = {}
    for line in body.splitlines()[:_SAMPLES_MAX]:
        match = _SAMPLE.match(line)
        if match is None:
            continue
        name, labels, value = match[1], match[2] or "", _number(match[3])
        sums[name] = sums.get(name, 0.0) + value
        if name == "torpor_loop_blocked_total" and value:
            blocked[_label(labels, "class")] = int(value)
    measured = sums.get("torpor_loop_lag_seconds_count", 0.0)
    return ReplicaMetrics(
        shards=int(sums.get("torpor_shards_owned", 0)),
        waits=int(sums.get("torpor_triggers_running", 0) + sums.get("torpor_triggers_shared", 0)),
        loop_lag=sums.get("torpor_loop_lag_seconds_sum", 0.0) / measured if measured else None,
        blocked=blocked,
    )


def replicas(leases: Iterable[Fields], metrics: Mapping[str, ReplicaMetrics], now: float) -> list[Json]:
    """Return the replicas by pool and name. One whose Lease is not renewed is not ready."""
    return sorted((_replica(lease, metrics, now) for lease in leases), key=lambda each: (each["pool"], each["name"]))


def holder(lease: Fields) -> str:
    """Return the name of the replica, which is that of its pod."""
    return text(json_fields.fields(lease.get("spec")).get("holderIdentity"))


def build(
    shown: list[Json], statistics: WaitStatistics, metrics: Mapping[str, ReplicaMetrics], notes: Iterable[str]
) -> Json:
    """Return the page."""
    return {
        "replicas": shown,
        "pools": _pools(shown, statistics.pools),
        "waits": {
            "total": statistics.total,
            "triggers": statistics.triggers,
            "byClass": statistics.by_class,
            "byHost": statistics.by_host,
            "byAge": statistics.by_age,
        },
        "shared": [
            {"class": each.class_name, "subject": each.subject, "waits": each.waits} for each in statistics.shared
        ],
        "blamed": [*_blamed_waits(statistics), *_blamed_classes(metrics)],
        "due": [
            {
                "key": wait.ref.replace(".", "/"),
                "run": f"live/{wait.namespace}/{wait.workflow}",
                "runName": wait.workflow,
                "namespace": wait.namespace,
                "task": wait.ref.partition("/")[0],
                "class": wait.class_name,
                "at": wait.at,
            }
            for wait in statistics.due
            if wait.workflow
        ],
        "notes": list(notes),
    }


def _replica(lease: Fields, metrics: Mapping[str, ReplicaMetrics], now: float) -> Json:
    spec, metadata = json_fields.fields(lease.get("spec")), json_fields.fields(lease.get("metadata"))
    labels = json_fields.fields(metadata.get("labels"))
    renewed = moment(spec.get("renewTime"))
    duration = json_fields.number(spec.get("leaseDurationSeconds"), 15)
    own = metrics.get(holder(lease), ReplicaMetrics())
    return {
        "pool": text(labels.get(constants.LABEL_POOL)),
        "name": holder(lease) or text(metadata.get("name")),
        "ready": bool(holder(lease)) and renewed is not None and now - renewed < 2 * duration,
        "shards": own.shards,
        "waits": own.waits,
        "loopLag": own.loop_lag,
        "renewed": renewed,
    }


def _pools(shown: list[Json], waits: Mapping[str, PoolWaits]) -> list[Json]:
    names = sorted({*(replica["pool"] for replica in shown), *waits})
    return [_pool(name, [each for each in shown if each["pool"] == name], waits.get(name)) for name in names]


def _pool(name: str, members: list[Json], waits: PoolWaits | None) -> Json:
    return {
        "name": name,
        "replicas": len(members),
        "ready": sum(member["ready"] for member in members),
        "shards": sum(member["shards"] for member in members),
        "waits": waits.waits if waits else 0,
        "stuck": waits.stuck if waits else 0,
    }


def _blamed_waits(statistics: WaitStatistics) -> list[Json]:
    return [
        {
            "class": wait.class_name,
            "namespace": wait.namespace,
            "subject": f"{wait.workflow}/{wait.ref}",
            "seconds": _seconds(wait.message),
            "reason": wait.message,
            "since": wait.since,
        }
        for wait in statistics.blamed
    ]


def _blamed_classes(metrics: Mapping[str, ReplicaMetrics]) -> list[Json]:
    times: dict[str, int] = {}
    for own in metrics.values():
        for name, number in own.blocked.items():
            times[name] = times.get(name, 0) + number
    return [
        {
            "class": name,
            "namespace": "",
            "subject": "",
            "seconds": 0.0,
            "reason": f"blocked an event loop {number} time{'' if number == 1 else 's'} since the replicas started",
            "since": None,
        }
        for name, number in sorted(times.items(), key=lambda entry: -entry[1])
    ]


def _seconds(message: str) -> float:
    match = _SECONDS.search(message)
    return float(match[1]) if match else 0.0


def _label(labels: str, name: str) -> str:
    match = re.search(rf'(?:^|,){name}="([^"]*)"', labels)
    return json_fields.one_line(match[1], 100) if match else ""


def _number(written: str) -> float:
    try:
        number = float(written)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
