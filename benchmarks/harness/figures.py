"""Figures: what a benchmark measured, as tables for people and as JSON for programs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`name` is one word for programs, `what` and `aside` are for people."""

    name: str
    what: str
    value: float
    unit: str
    goal: str = ""
    aside: str = ""


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: bool = False) -> str:
    """A table. `numbers`: all columns but the first are aligned to the right."""
    rule = ["---", *("--:" if numbers else "---" for _ in head[1:])]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, rule, *rows))


def table(figures: Iterable[Figure], head: str = "", beside: Mapping[str, str] | None = None) -> str:
    """Markdown. With a `head`, the last column has what `beside` says of each figure, by name."""
    column = (lambda name: ((beside or {}).get(name, ""),)) if head else (lambda _: ())
    rows = [(figure.what, _shown(figure), figure.goal, *column(figure.name)) for figure in figures]
    return markdown(("what", "Torpor", "goal", *([head] if head else [])), rows)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _shown(figure: Figure) -> str:
    aside = f" ({figure.aside})" if figure.aside else ""
    return f"{rounded(figure.value)} {figure.unit}{aside}"


def rounded(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
