"""What was measured, as a table for people and as JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

_HEAD = ("what", "Torpor", "goal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of them. `name` is one word for programs."""

    name: str
    what: str
    value: float
    unit: str
    goal: str = ""
    aside: str = ""


def table(figures: Sequence[Figure], head: str, beside: Mapping[str, str]) -> str:
    """Markdown, with a column of what there is to say of another by the names of the figures."""
    heads = (*_HEAD, head)
    rows = [heads, tuple("---" for _ in heads), *((*_row(one), beside.get(one.name, "")) for one in figures)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def written(figures: Sequence[Figure], *, commit: str, taken: str) -> str:
    """JSON."""
    return json.dumps(
        {"bench": "triggerer", "commit": commit, "taken": taken, "figures": [asdict(each) for each in figures]},
        indent=1,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _row(figure: Figure) -> tuple[str, str, str]:
    aside = f" ({figure.aside})" if figure.aside else ""
    return figure.what, f"{_shown(figure.value)} {figure.unit}{aside}", figure.goal


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
