"""What a run of the bench came to, as a table for people and as JSON for programs. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

_MIB = 1024**2
_HEAD = ("results", "MB", "whole run", "the reducing task", "its peak", "operator's peak", "archive's peak")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A run. `wall` and `reducing` are seconds; peaks are bytes, of Torpor's parts also before, just after a reset."""

    results: int
    size: int
    wall: float
    reducing: float
    worker_before: int
    worker: int
    before: Mapping[str, int]
    peaks: Mapping[str, int]


def table(taken: Sequence[Measurement]) -> str:
    """Markdown, a row for each run."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *map(_row, taken)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def written(taken: Sequence[Measurement], *, commit: str, at: str, limit: str) -> str:
    """JSON; `limit` is the memory that the reducing pod may have."""
    runs = [asdict(one) for one in taken]
    body = {"bench": "reduce", "commit": commit, "taken": at, "worker_limit": limit, "runs": runs}
    return json.dumps(body, indent=1) + "\n"


def _row(one: Measurement) -> tuple[str, ...]:
    megabytes = one.results * one.size / 1e6
    parts = (_memory(one.before[part], one.peaks[part]) for part in ("operator", "archive"))
    times = (f"{one.wall:,.0f} s", f"{one.reducing:.1f} s")
    return f"{one.results:,}", f"{megabytes:,.0f}", *times, _memory(one.worker_before, one.worker), *parts


def _memory(before: int, peak: int) -> str:
    return f"{peak / _MIB:.1f} MiB (before {before / _MIB:.1f})"
