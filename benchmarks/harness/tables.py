"""Markdown tables."""

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: bool = False) -> str:
    """A table. `numbers`: all columns but the first are aligned to the right."""
    rule = ["---", *("--:" if numbers else "---" for _ in head[1:])]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, rule, *rows))
