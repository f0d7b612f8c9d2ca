"""The timeline as text: pods solid, waits hatched, queueing thin. Pure.

Each bar has at least one cell, so that a short pod between long waits stays visible. A folded row shows the pods of its
instances as a height: full where the most of them ran at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torpor_views.tones import Tone
from torpor_wire.text import printable_line

from torpor_cli.render import timeline_axis
from torpor_cli.render.timeline_rows import Chart, ChartRow, SpanKind
from torpor_cli.table import COLOURS, cut, padded, state_colour, width_of

LABEL_SHARE = 3
"""The labels take at most a third of the width."""
CELLS_MIN = 10
WIDTH_MIN = 40
_TICK_CELLS = 12
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartStyle:
    """The characters of a chart."""

    cells: Mapping[SpanKind, str]
    heights: str
    tick: str


UNICODE = ChartStyle(
    cells={SpanKind.QUEUED: "─", SpanKind.POD: "█", SpanKind.WAIT: "░", SpanKind.BACKOFF: "·", SpanKind.UNKNOWN: "?"},
    heights="▁▂▃▄▅▆▇█",
    tick="╵",
)
ASCII = ChartStyle(
    cells={SpanKind.QUEUED: "-", SpanKind.POD: "#", SpanKind.WAIT: "/", SpanKind.BACKOFF: ".", SpanKind.UNKNOWN: "?"},
    heights="#",
    tick="|",
)

_COLOURS: Mapping[SpanKind, str] = {
    SpanKind.QUEUED: "\x1b[2m",
    SpanKind.POD: COLOURS[Tone.RUN],
    SpanKind.WAIT: COLOURS[Tone.WAIT],
    SpanKind.BACKOFF: "\x1b[2m",
    SpanKind.UNKNOWN: "\x1b[2m",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The widths of the columns, in cells of the terminal."""

    label: int
    cells: int
    end: int


def draw(chart: Chart, width: int, *, style: ChartStyle = UNICODE, colour: bool = False) -> Iterator[str]:
    """Yield the lines of the chart, none longer than `width`."""
    layout = plan_layout(chart, width)
    yield cut(timeline_axis.title(chart), max(width, WIDTH_MIN))
    yield from _axis(chart, layout, style)
    for row in chart.rows:
        yield _line(row, chart, layout, style, colour=colour)
    yield _legend(chart, style, colour=colour)
    yield from (printable_line(note) for note in chart.notes)


def plan_layout(chart: Chart, width: int) -> Layout:
    """Divide the width between labels, chart, and states with durations."""
    columns = max(width, WIDTH_MIN)
    label = min(max((width_of(_label(row)) for row in chart.rows), default=0), columns // LABEL_SHARE)
    end = min(max((width_of(timeline_axis.ending(row)) for row in chart.rows), default=0), columns // LABEL_SHARE)
    return Layout(label=label, cells=max(columns - label - end - 2, CELLS_MIN), end=end)


def cells_of(row: ChartRow, chart: Chart, count: int, style: ChartStyle = UNICODE) -> list[tuple[str, SpanKind | None]]:
    """Return the character and the kind of each cell of a row; a space where nothing happened."""
    if row.count == 1:
        kinds = timeline_axis.kinds_of(row.bars, chart, count)
        return [(" " if kind is None else style.cells[kind], kind) for kind in kinds]
    cell_shares = timeline_axis.shares(row.bars, chart, count)
    drawn = zip(timeline_axis.folded_kinds(cell_shares), timeline_axis.pod_heights(cell_shares), strict=True)
    return [(_folded_cell(kind, height, style), kind) for kind, height in drawn]


def _folded_cell(kind: SpanKind | None, height: float, style: ChartStyle) -> str:
    match kind:
        case None:
            return " "
        case SpanKind.POD:
            return style.heights[round(height * (len(style.heights) - 1))]
        case _:
            return style.cells[kind]


def _line(row: ChartRow, chart: Chart, layout: Layout, style: ChartStyle, *, colour: bool) -> str:
    cells = cells_of(row, chart, layout.cells, style)
    drawn = _coloured(cells) if colour else "".join(character for character, _ in cells)
    state = cut(timeline_axis.ending(row), layout.end)
    shade = state_colour(row.state) if colour else ""
    end = f"{shade}{state}{_RESET}" if shade else state
    return f"{padded(_label(row), layout.label)} {drawn} {end}".rstrip()


def _coloured(cells: Sequence[tuple[str, SpanKind | None]]) -> str:
    """Return the cells with one escape sequence for each stretch of one kind."""
    parts: list[str] = []
    before: SpanKind | None = None
    for character, kind in cells:
        if kind is not before:
            parts.append((_RESET if before else "") + (_COLOURS[kind] if kind else ""))
            before = kind
        parts.append(character)
    return "".join(parts) + (_RESET if before else "")


def _label(row: ChartRow) -> str:
    return "  " * row.depth + printable_line(row.label)


def _axis(chart: Chart, layout: Layout, style: ChartStyle) -> Iterator[str]:
    """Yield the line of tick labels, and the line of ticks."""
    labels, marks = [" "] * layout.cells, [" "] * layout.cells
    free = 0
    for at in timeline_axis.ticks(chart.seconds, layout.cells // _TICK_CELLS):
        cell = min(round(at / chart.seconds * layout.cells), layout.cells - 1)
        text = timeline_axis.tick_label(at)
        marks[cell] = style.tick
        first = min(cell, layout.cells - len(text))
        if first >= free:
            labels[first : first + len(text)] = text
            free = first + len(text) + 1
    for line in (labels, marks):
        yield f"{' ' * layout.label} {''.join(line)}".rstrip()


def _legend(chart: Chart, style: ChartStyle, *, colour: bool) -> str:
    """Return what the characters mean, for the kinds that the chart has."""
    used = {bar.kind for row in chart.rows for bar in row.bars}
    names = [(kind, style.cells[kind] * 2) for kind in SpanKind if kind in used]
    return "  ".join(f"{_COLOURS[kind] + mark + _RESET if colour else mark} {kind}" for kind, mark in names)
