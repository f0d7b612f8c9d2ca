"""A row of the timeline, divided into cells of equal time. Pure."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from torpor_cli.render.timeline_rows import Bar, Chart, SpanKind

Share: TypeAlias = Mapping[SpanKind, float]
"""The seconds of each kind within a cell, over all instances of the row."""


def shares(bars: Sequence[Bar], chart: Chart, count: int) -> list[Share]:
    """Return the share of each of `count` cells."""
    found: list[dict[SpanKind, float]] = [{} for _ in range(count)]
    size = chart.seconds / count
    for bar in bars:
        for cell in range(cell_at(bar.start, chart, count), cell_at(bar.end, chart, count) + 1):
            left = chart.start + cell * size
            overlap = min(bar.end, left + size) - max(bar.start, left)
            if overlap > 0:
                found[cell][bar.kind] = found[cell].get(bar.kind, 0.0) + overlap
    return list(found)


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


def folded_kinds(found: Sequence[Share]) -> list[SpanKind | None]:
    """Return the kind of each cell of several instances: a pod if any ran, else a wait, else queueing."""
    order = (SpanKind.POD, SpanKind.WAIT, SpanKind.QUEUED, SpanKind.BACKOFF, SpanKind.UNKNOWN)
    return [next((kind for kind in order if share.get(kind)), None) for share in found]


def pod_heights(found: Sequence[Share]) -> list[float]:
    """Return the pods of each cell, relative to the cell with the most: 0 to 1."""
    pods = [share.get(SpanKind.POD, 0.0) for share in found]
    most = max(pods, default=0.0) or 1.0
    return [number / most for number in pods]
