"""The time axis of a chart, and its rows divided into cells of equal time. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from torpor_wire import times
from torpor_wire.text import printable_line

from torpor_cli.render.timeline_rows import Bar, Chart, ChartRow, SpanKind

_STEPS = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0),
)
_DAY = 86_400.0
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_PRECISE = 10.0
_ROUNDING = 1e-6
"""The difference of two times may be a little less than it was."""


def ticks(seconds: float, most: int) -> list[float]:
    """Return the positions of at most `most` ticks after 0, in seconds, with 0 first."""
    step = _step(seconds / max(most, 1))
    return [step * number for number in range(math.floor(seconds / step + 1e-9) + 1)]


def _step(minimum: float) -> float:
    """Return the shortest round distance that is not shorter than `least`."""
    fitting = next((step for step in _STEPS if step >= minimum), None)
    return fitting if fitting is not None else _DAY * math.ceil(minimum / _DAY)


def tick_label(seconds: float) -> str:
    """Return `90` as `1m30s` and `0.5` as `0.5s`."""
    if seconds != int(seconds):
        return f"{seconds:.1f}s"
    rest = int(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def duration(seconds: float) -> str:
    """Return a duration as `times.human` does, and with a tenth below ten seconds. Both cut, so that they agree."""
    if seconds < _PRECISE:
        return f"{math.floor(max(seconds, 0.0) * 10 + _ROUNDING) / 10:.1f}s"
    return times.human(seconds)


def title(chart: Chart) -> str:
    """Return the name of the run, its state and its duration."""
    return f"{printable_line(chart.title)}  {chart.state}  {duration(chart.seconds)}"


def ending(row: ChartRow) -> str:
    """Return the state and the duration of a row."""
    took = f" {duration(row.seconds)}" if row.seconds is not None else ""
    return f"{printable_line(row.state)}{took}"


Share: TypeAlias = Mapping[SpanKind, float]
"""The seconds of each kind within a cell, over all instances of the row."""


def shares(bars: Sequence[Bar], chart: Chart, count: int) -> list[Share]:
    """Return the share of each of `count` cells."""
    seconds: list[dict[SpanKind, float]] = [{} for _ in range(count)]
    size = chart.seconds / count
    for bar in bars:
        for cell in range(cell_at(bar.start, chart, count), cell_at(bar.end, chart, count) + 1):
            left = chart.start + cell * size
            overlap = min(bar.end, left + size) - max(bar.start, left)
            if overlap > 0:
                seconds[cell][bar.kind] = seconds[cell].get(bar.kind, 0.0) + overlap
    return list(seconds)


def cell_at(moment: float, chart: Chart, count: int) -> int:
    """Return the cell of a moment; the first or the last one for moments outside the chart."""
    return min(max(int((moment - chart.start) / chart.seconds * count), 0), count - 1)


def kinds_of(bars: Sequence[Bar], chart: Chart, count: int) -> list[SpanKind | None]:
    """Return the longest kind of each cell of one instance. Each bar keeps at least one cell."""
    kinds = [max(share, key=lambda kind: share[kind]) if share else None for share in shares(bars, chart, count)]
    for bar in sorted(bars, key=lambda bar: bar.kind is SpanKind.POD):
        if bar.kind not in kinds[cell_at(bar.start, chart, count) : cell_at(bar.end, chart, count) + 1]:
            kinds[cell_at((bar.start + bar.end) / 2, chart, count)] = bar.kind
    return kinds


def folded_kinds(cell_shares: Sequence[Share]) -> list[SpanKind | None]:
    """Return the kind of each cell of several instances: a pod if any ran, else a wait, else queueing."""
    order = (SpanKind.POD, SpanKind.WAIT, SpanKind.QUEUED, SpanKind.BACKOFF, SpanKind.UNKNOWN)
    return [next((kind for kind in order if share.get(kind)), None) for share in cell_shares]


def pod_heights(cell_shares: Sequence[Share]) -> list[float]:
    """Return the pods of each cell, relative to the cell with the most: 0 to 1."""
    pods = [share.get(SpanKind.POD, 0.0) for share in cell_shares]
    most = max(pods, default=0.0) or 1.0
    return [number / most for number in pods]
