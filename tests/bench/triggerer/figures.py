"""What was measured, as a table for people and as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

_HEAD = ("what", "Torpor", "goal", "Airflow 3.3.2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of them. `name` is one word for programs; `airflow` says what there is to say of its triggerer."""

    name: str
    what: str
    value: float
    unit: str
    goal: str = ""
    airflow: str = ""
    aside: str = ""


def table(figures: Sequence[Figure]) -> str:
    """Markdown."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(map(_row, figures))]
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


def _row(figure: Figure) -> tuple[str, ...]:
    aside = f" ({figure.aside})" if figure.aside else ""
    return figure.what, f"{_shown(figure.value)} {figure.unit}{aside}", figure.goal, figure.airflow


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
