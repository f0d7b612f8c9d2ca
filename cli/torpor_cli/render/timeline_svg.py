"""The timeline as an SVG picture: pods solid, waits hatched, queueing thin. Pure.

Names and notes come from a cluster: they are escaped, and characters that XML does not allow are shown as text.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape

from torpor_wire.text import printable_line

from torpor_cli.render import timeline_axis
from torpor_cli.render.timeline_axis import ending
from torpor_cli.render.timeline_rows import Bar, Chart, ChartRow, SpanKind
from torpor_cli.table import cut, width_of

WIDTH = 1200.0
_ROW, _TOP, _MARGIN = 22.0, 62.0, 14.0
_CHARACTER = 7.3
"""Width of a character of the labels, in pixels."""
_LABEL_MAX, _END_MAX = 44, 36
_TICKS = 10
_FOLDED_CELLS = 240
_TITLE_MAX = 120
_NOT_IN_XML = re.compile("[\ufffe\uffff]")

_COLOURS: Mapping[SpanKind, str] = {
    SpanKind.QUEUED: "#8a8f98",
    SpanKind.POD: "#2f6fde",
    SpanKind.WAIT: "url(#wait)",
    SpanKind.BACKOFF: "#c9a227",
    SpanKind.UNKNOWN: "#d7dade",
}
_THICKNESS: Mapping[SpanKind, float] = {
    SpanKind.QUEUED: 2.0,
    SpanKind.POD: 12.0,
    SpanKind.WAIT: 12.0,
    SpanKind.BACKOFF: 2.0,
    SpanKind.UNKNOWN: 6.0,
}
_STATE_COLOURS: Mapping[str, str] = {"Failed": "#c62828", "Succeeded": "#2e7d32", "Cancelled": "#7b1fa2"}

_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" \
viewBox="0 0 {width:g} {height:g}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" \
font-size="12" role="img">
<title>{title}</title>
<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<rect width="6" height="6" fill="#fff3d6"/><rect width="2.5" height="6" fill="#e09f1f"/></pattern></defs>
<rect width="100%" height="100%" fill="#ffffff"/>"""


def draw(chart: Chart) -> Iterator[str]:
    """Yield the picture in pieces of text."""
    left = _MARGIN * 2 + _CHARACTER * min(max((_label_width(row) for row in chart.rows), default=0), _LABEL_MAX)
    right = _MARGIN * 2 + _CHARACTER * min(max((width_of(ending(row)) for row in chart.rows), default=0), _END_MAX)
    height = _TOP + _ROW * len(chart.rows) + 44.0 + 18.0 * len(chart.notes)
    title = cut(timeline_axis.title(chart), _TITLE_MAX)
    yield _HEAD.format(width=WIDTH, height=height, title=xml_text(title)) + "\n"
    yield _text(_MARGIN, 24.0, title, extra=' font-size="15" font-weight="bold"')
    yield from _axis(chart, left, WIDTH - right)
    for number, row in enumerate(chart.rows):
        yield from _row(row, chart, left, WIDTH - right, _TOP + _ROW * number)
    bottom = _TOP + _ROW * len(chart.rows) + 26.0
    yield from _legend({bar.kind for row in chart.rows for bar in row.bars}, left, bottom)
    for number, note in enumerate(chart.notes, start=1):
        yield _text(_MARGIN, bottom + 18.0 * number, printable_line(note))
    yield "</svg>\n"


def xml_text(text: str) -> str:
    """Return foreign text for XML, in elements and attributes."""
    return _NOT_IN_XML.sub("\ufffd", escape(printable_line(text), quote=True))


def _axis(chart: Chart, left: float, right: float) -> Iterator[str]:
    bottom = _TOP + _ROW * len(chart.rows)
    for at in timeline_axis.ticks(chart.seconds, _TICKS):
        x = _x(chart, chart.start + at, left, right)
        yield f'<path d="M{x:.1f} {_TOP - 8:.1f}V{bottom:.1f}" stroke="#e3e6ea"/>\n'
        yield _text(x, _TOP - 13, timeline_axis.tick_label(at), extra=' fill="#6a6f78" text-anchor="middle"')


def _row(row: ChartRow, chart: Chart, left: float, right: float, top: float) -> Iterator[str]:
    middle = top + _ROW / 2
    yield _text(_MARGIN + 2 * _CHARACTER * row.depth, middle + 4, cut(row.label, _LABEL_MAX - 2 * row.depth))
    if row.count > 1:
        yield from _folded(row, chart, (left, right), middle)
    else:
        yield from (_bar(bar, row, chart, (left, right), middle) for bar in row.bars)
    colour = _STATE_COLOURS.get(row.state, "#333333")
    yield _text(right + _MARGIN, middle + 4, cut(ending(row), _END_MAX), extra=f' fill="{colour}"')


def _folded(row: ChartRow, chart: Chart, sides: tuple[float, float], middle: float) -> Iterator[str]:
    """Yield where any instance queued or waited, and over it the number of pods as a height."""
    behind = [bar for bar in merged(row.bars) if bar.kind is not SpanKind.POD]
    yield from (_bar(bar, row, chart, sides, middle) for bar in behind)
    thickness = _THICKNESS[SpanKind.POD]
    low, width = middle + thickness / 2, (sides[1] - sides[0]) / _FOLDED_CELLS
    steps = "".join(
        f"V{low - height * thickness:.1f}h{width:.2f}"
        for height in timeline_axis.pod_heights(timeline_axis.shares(row.bars, chart, _FOLDED_CELLS))
    )
    yield f'<path d="M{sides[0]:.1f} {low:.1f}{steps}V{low:.1f}Z" fill="{_COLOURS[SpanKind.POD]}"/>\n'


def _bar(bar: Bar, row: ChartRow, chart: Chart, sides: tuple[float, float], middle: float) -> str:
    start, end = (_x(chart, at, *sides) for at in (bar.start, bar.end))
    thickness = _THICKNESS[bar.kind]
    tip = f"{row.label} {bar.kind} {timeline_axis.duration(bar.end - bar.start)} {bar.note}".rstrip()
    return (
        f'<rect x="{start:.1f}" y="{middle - thickness / 2:.1f}" width="{max(end - start, 1.0):.1f}" '
        f'height="{thickness:g}" fill="{_COLOURS[bar.kind]}"><title>{xml_text(tip)}</title></rect>\n'
    )


def merged(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    """Return the spans in which any instance was in each kind, so that a folded row stays small."""
    merged_bars: list[Bar] = []
    for kind in SpanKind:
        spans: list[list[float]] = []
        for bar in sorted((bar for bar in bars if bar.kind is kind), key=lambda bar: bar.start):
            if spans and bar.start <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], bar.end)
            else:
                spans.append([bar.start, bar.end])
        merged_bars += [Bar(kind=kind, start=start, end=end) for start, end in spans]
    return tuple(merged_bars)


def _legend(used: set[SpanKind], left: float, top: float) -> Iterator[str]:
    for number, kind in enumerate(kind for kind in SpanKind if kind in used):
        x, thickness = left + 130.0 * number, _THICKNESS[kind]
        yield (
            f'<rect x="{x:.1f}" y="{top - 4 - thickness / 2:.1f}" width="24" height="{thickness:g}" '
            f'fill="{_COLOURS[kind]}"/>\n'
        )
        yield _text(x + 32, top, kind)


def _text(x: float, y: float, text: str, *, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" xml:space="preserve"{extra}>{xml_text(text)}</text>\n'


def _x(chart: Chart, at: float, left: float, right: float) -> float:
    inside = min(max((at - chart.start) / chart.seconds, 0.0), 1.0)
    return left + inside * (right - left)


def _label_width(row: ChartRow) -> int:
    return 2 * row.depth + width_of(printable_line(row.label))
