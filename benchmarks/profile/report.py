"""The cost of a profiled load as Markdown tables."""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from torpor_wire import times

from benchmarks.harness import program
from benchmarks.harness.control_plane import API_SERVER, ETCD
from benchmarks.harness.figures import markdown
from benchmarks.harness.processes import OPERATOR
from benchmarks.profile import api_server, counters
from benchmarks.profile.cost import Cost, StoredObjects, by
from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import ETCD_RULES, OPERATOR_RULES, OTHER, ActivityRule, activity

_COLUMNS = 7
"""Kinds of requests with a column in the table of activities."""
_LEAST = 0.05
"""Milliseconds a task, below which rows are summed."""
_NOISE = ("get /debug/pprof/profile", "get /metrics")


def show_profile(name: str, measuring: Coroutine[Any, Any, Cost]) -> None:
    """Measure, and print the tables under a line that says when, of what, and beside which load."""
    began, before = times.rfc3339(time.time()), os.getloadavg()
    cost = asyncio.run(measuring)
    sys.stdout.write(
        f"{began}, {program.commit()}: {name}, in {cost.wall:.1f} s; load {before[0]:.1f} before and"
        f" {os.getloadavg()[0]:.1f} after; other processes used {cost.cpu['foreign']:.1f} s of CPU\n\n"
    )
    sys.stdout.write(tables(cost))


def tables(cost: Cost) -> str:
    """All of them."""
    parts = (_processes(cost), _requests(cost), _activities(cost), _others(cost), _counts(cost), _watches(cost))
    return "\n".join((*parts, _stored(cost), _parts(cost)))


def unattributed(cost: Cost) -> float:
    """The share of the API server's samples that have no request and no other name, or no activity."""
    samples = cost.samples[API_SERVER]
    nameless = [sample for sample in samples if OTHER in api_server.kind(sample)[0] or api_server.does(sample) == OTHER]
    return _sum(nameless) / _sum(samples)


def _processes(cost: Cost) -> str:
    own = {name: used for name, used in cost.cpu.items() if name != "foreign"}
    rows = [(name, _ms(cost.each(used)), _share(used / sum(own.values()))) for name, used in _most(own)]
    total = ("all", _ms(cost.each(sum(own.values()))), "100 %")
    return _table("CPU per task by process", ("process", "ms", "share"), [*rows, total])


def _requests(cost: Cost) -> str:
    samples = cost.samples[API_SERVER]
    seconds_by_kind = by(samples, api_server.kind)
    counts = {(f"{verb} {resource}", client): n for (verb, resource, client), n in _asked(cost).items()}
    rows, rest = [], 0.0
    for name, seconds in seconds_by_kind.items():
        if cost.each(seconds) < _LEAST:
            rest += seconds
            continue
        count = counts.get(name, 0)
        each = f"{1000 * seconds / count:.2f}" if count >= cost.tasks / 10 else ""
        rows.append((*name, _per(count, cost), each, _ms(cost.each(seconds)), _share(seconds / _sum(samples))))
    rows.append(("(less than 0.05 ms each)", "", "", "", _ms(cost.each(rest)), _share(rest / _sum(samples))))
    rows.append(("all samples", "", "", "", _ms(cost.each(_sum(samples))), "100 %"))
    missed = cost.cpu[API_SERVER] - _sum(samples)
    rows.append(("(CPU of the process without a sample)", "", "", "", _ms(cost.each(missed)), ""))
    head = ("request", "client", "per task", "ms each", "ms per task", "share")
    return _table(f"The API server by request ({_share(unattributed(cost))} not attributed)", head, rows)


def _activities(cost: Cost) -> str:
    """The activities of the most expensive kinds of requests, over all clients."""
    samples = [sample for sample in cost.samples[API_SERVER] if api_server.kind(sample)[0] not in _NOISE]
    kinds = [name for name in by(samples, lambda each: api_server.kind(each)[0]) if not name.startswith("(")][:_COLUMNS]
    cells = by(samples, lambda sample: (api_server.does(sample), _column(api_server.kind(sample)[0], kinds)))
    columns = (*kinds, "other requests", "background")
    rows = [
        (name, _ms(cost.each(used)), *(_ms(cost.each(cells.get((name, column), 0.0))) for column in columns))
        for name, used in by(samples, api_server.does).items()
    ]
    sums = by(samples, lambda sample: _column(api_server.kind(sample)[0], kinds))
    total = ("all", _ms(cost.each(_sum(samples))), *(_ms(cost.each(sums.get(column, 0.0))) for column in columns))
    return _table("The API server by activity, ms per task", ("activity", "all", *columns), [*rows, total])


def _column(kind: str, kinds: Sequence[str]) -> str:
    if kind.startswith("("):
        return "background"
    return kind if kind in kinds else "other requests"


def _others(cost: Cost) -> str:
    tables = []
    for name, rules in ((ETCD, ETCD_RULES), (OPERATOR, OPERATOR_RULES)):
        samples = cost.samples[name]
        seconds = by(samples, partial(_activity, rules))
        shares = {what: used / _sum(samples) for what, used in seconds.items()}
        rows = [(what, _ms(cost.each(share * cost.cpu[name])), _share(share)) for what, share in shares.items()]
        tables.append(_table(f"{name} by activity", ("activity", "ms per task", "share"), rows))
    return "\n".join(tables)


def _activity(rules: Sequence[ActivityRule], sample: ProfileSample) -> str:
    return activity(sample.stack, rules)


def _counts(cost: Cost) -> str:
    """Requests as the API server's own metric counts them, which counts no watch that is still open."""
    kinds, rejected = Counter[str](), Counter[str]()
    for (verb, resource, sub, code), n in cost.api_server[counters.REQUESTS].items():
        name = f"{verb.lower()} {resource}/{sub}".rstrip("/")
        kinds[name] += n
        rejected[name] += n if code >= "4" else 0
    listed = [(name, n, rejected[name]) for name, n in _most(kinds) if n >= cost.tasks / 100]
    listed += [("all", kinds.total(), rejected.total()), ("all with a client", sum(_asked(cost).values()), 0)]
    rows = [(name, f"{n:,}", _per(n, cost), f"{no:,}" if no else "") for name, n, no in listed]
    return _table("Requests (apiserver_request_total)", ("request", "count", "per task", "rejected"), rows)


def _asked(cost: Cost) -> Mapping[tuple[str, ...], int]:
    return cost.api_server[counters.BY_CLIENT]


def _watches(cost: Cost) -> str:
    events, sizes = cost.api_server[counters.WATCH_EVENTS], cost.api_server[counters.WATCH_BYTES]
    rows = [
        (".".join(filter(None, reversed(key))), f"{n:,}", _per(n, cost), f"{sizes[key] / n:,.0f}")
        for key, n in _most(events)
        if n >= cost.tasks / 100
    ]
    return _table("Watch events sent", ("resource", "events", "per task", "bytes each"), rows)


def _stored(cost: Cost) -> str:
    rows = [
        (
            name,
            f"{stored.objects:,}",
            f"{stored.size / stored.objects:,.0f}",
            f"{stored.writes / stored.objects:.2f}",
            _bytes(stored, cost),
        )
        for name, stored in sorted(cost.stored.items(), key=lambda each: -each[1].size)
    ]
    head = ("resource", "objects", "bytes each", "writes each", "bytes per task")
    log, puts = cost.etcd[counters.WAL].total(), cost.etcd[counters.PUTS].total()
    return _table("Objects in etcd", head, rows) + (
        f"\netcd: {_per(puts, cost)} puts, and {log / cost.tasks:,.0f} bytes of its log, per task."
        f" Received {cost.etcd[counters.RECEIVED].total() / cost.tasks:,.0f} bytes, and sent"
        f" {cost.etcd[counters.SENT].total() / cost.tasks:,.0f}.\n"
    )


def _parts(cost: Cost) -> str:
    names = list(dict.fromkeys(name for part in cost.parts.values() for name in part))
    rows = [
        (resource, *(f"{counts.get(name, 0):,}" for name in names), f"{sum(counts.values()):,}")
        for resource, counts in cost.parts.items()
    ]
    return _table("Bytes of one object as JSON", ("resource", *names, "all"), rows)


def _bytes(stored: StoredObjects, cost: Cost) -> str:
    return f"{stored.size / cost.tasks:,.0f}"


def _most(counted: Mapping) -> list[tuple]:  # type: ignore[type-arg]
    return sorted(counted.items(), key=lambda each: -each[1])


def _sum(samples: Sequence[ProfileSample]) -> float:
    return sum(sample.seconds for sample in samples)


def _per(count: float, cost: Cost) -> str:
    return f"{count / cost.tasks:.2f}" if count else ""


def _ms(value: float) -> str:
    return f"{value:.2f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"### {title}\n\n{markdown(head, rows, numbers=True)}"
