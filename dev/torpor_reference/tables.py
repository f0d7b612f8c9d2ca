"""Generated blocks of a Markdown page: facts come from the code, descriptions stay as the page has them.

A block is between `<!-- generated: NAME -->` and `<!-- end -->`. Pure: pages come in and go out as text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BLOCK = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


class PageError(Exception):
    """A page and the code do not agree in a way that the generator cannot correct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose first cells come from the code; the page keeps the cells after them, found by the first cell."""

    header: Row
    rows: Sequence[Row]


def fill(page: str, blocks: Mapping[str, str | Table]) -> str:
    """The page with the content of every block replaced.

    Raises PageError where page and code have different blocks, and where the page lacks a description.
    """
    names = sorted(match["name"] for match in _BLOCK.finditer(page))
    if names != sorted(blocks):
        raise PageError(f"the page has the blocks {names}, the code has {sorted(blocks)}")

    def replaced(match: re.Match[str]) -> str:
        content = blocks[match["name"]]
        text = content if isinstance(content, str) else _completed(match["name"], content, match["body"])
        return f"{match[1]}\n{text}\n\n{match[4]}"

    return _BLOCK.sub(replaced, page)


def markdown(header: Row, rows: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines)


def escaped(text: str) -> str:
    """Text as one cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def _completed(name: str, table: Table, body: str) -> str:
    lines = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in body.splitlines() if line.startswith("|")]
    kept = {cells[0]: tuple(cells) for cells in lines}
    rows = [row + kept.get(row[0], ())[len(row) :] for row in table.rows]
    missing = [row[0] for row in rows if len(row) != len(table.header) or not row[-1]]
    if missing:
        raise PageError(f"{name}: add a line with a description for {', '.join(missing)}")
    return markdown(table.header, rows)
