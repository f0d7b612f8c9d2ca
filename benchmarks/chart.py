"""Draws line charts as SVG. A plotting library would be the largest dependency of the repository."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, HEAD, FOOT = 860, 64, 20, 62, 40
_PANEL, _GAP = 170, 42
_TICKS = 5
_FONT = 'font-family="sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """Points in the order of time; `name` is shown once for all lines that share it."""

    name: str
    color: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPanel:
    """Lines over one axis of values."""

    title: str
    lines: Sequence[ChartLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartMark:
    """A moment that all panels show."""

    at: float
    text: str


def draw(title: str, panels: Sequence[ChartPanel], marks: Sequence[ChartMark], *, below: str) -> str:
    """The chart as an SVG document; `below` names the axis of time."""
    height = HEAD + len(panels) * (_PANEL + _GAP) - _GAP + FOOT
    end = max(at for panel in panels for line in panel.lines for at, _ in line.points)
    colors = {line.name: line.color for panel in panels for line in panel.lines}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {_FONT}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        _text(LEFT, 24, title, font_size=16, font_weight="bold"),
        *_legend(colors),
        *(part for index, panel in enumerate(panels) for part in _panel(panel, HEAD + index * (_PANEL + _GAP), end)),
        *(part for mark in marks for part in _mark(mark, end, height - FOOT)),
        *_times(end, height - FOOT),
        _text(WIDTH - RIGHT, height - 6, below, text_anchor="end", fill="#555"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def ticks(top: float) -> list[float]:
    """From nothing to `top` or the next above it, in steps of 1, 2 or 5 times a power of ten."""
    rough = max(top, 1e-9) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [round(step * number, 10) for number in range(math.ceil(top / step - 1e-9) + 1)]


def _panel(panel: ChartPanel, top: float, end: float) -> list[str]:
    steps = ticks(max(value for line in panel.lines for _, value in line.points) or 1)
    bottom, scale = top + _PANEL, _PANEL / steps[-1]
    grid = [part for step in steps for part in _rule(step, bottom - step * scale)]
    return [
        _text(LEFT, top - 8, panel.title, font_weight="bold"),
        *grid,
        *(_line(each, end, bottom, scale) for each in panel.lines),
    ]


def _line(line: ChartLine, end: float, bottom: float, scale: float) -> str:
    points = " ".join(f"{_x(at, end):.1f},{bottom - value * scale:.1f}" for at, value in line.points)
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    return f'<polyline points="{points}" fill="none" stroke="{line.color}" stroke-width="2"{dashes}/>'


def _rule(step: float, height: float) -> list[str]:
    return [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#ddd"/>',
        _text(LEFT - 8, height + 4, f"{step:g}", text_anchor="end", fill="#555"),
    ]


def _times(end: float, bottom: float) -> list[str]:
    return [
        _text(_x(at, end), bottom + 16, f"{at:g}", text_anchor="middle", fill="#555") for at in ticks(end) if at <= end
    ]


def _mark(mark: ChartMark, end: float, bottom: float) -> list[str]:
    at = _x(mark.at, end)
    return [
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{HEAD}" y2="{bottom}" stroke="#555" stroke-dasharray="4 4"/>',
        _text(at - 6, HEAD - 8, mark.text, text_anchor="end", fill="#555"),
    ]


def _legend(colors: dict[str, str]) -> list[str]:
    parts, at = [], WIDTH - RIGHT
    for name, color in reversed(colors.items()):
        parts.append(_text(at, 24, name, text_anchor="end", fill=color, font_weight="bold"))
        at -= 24 + 7 * len(name)
    return parts


def _text(x: float, y: float, text: str, **style: str | int) -> str:
    """Style by the names of SVG's attributes, with underscores for dashes."""
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'


def _x(at: float, end: float) -> float:
    return LEFT + at / end * (WIDTH - LEFT - RIGHT)
