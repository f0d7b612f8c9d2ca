"""The table renderer: lays out every column that a command prints. Pure.

The cells of a table count characters. `width_of`, `cut` and `padded` count cells of a terminal: wide characters
take two, combining ones none.
"""

from collections.abc import Iterator, Sequence

from torpor_views import tones
from torpor_views.tones import Tone
from torpor_wire.text import printable_line

GAP = "   "
_ELLIPSIS = "…"
_RESET = "\x1b[0m"
COLOURS = {
    Tone.OK: "\x1b[32m",
    Tone.BAD: "\x1b[31m",
    Tone.WARN: "\x1b[33m",
    Tone.RUN: "\x1b[36m",
    Tone.WAIT: "\x1b[34m",
}
"""The colour of each tone that has one."""


def lines(head: Sequence[str], rows: Sequence[Sequence[str]], *, coloured: bool = False) -> Iterator[str]:
    """Yield headings and rows in columns of equal width. An empty cell is a dash; states below STATE have colours."""
    cells = [[printable_line(cell) or "-" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    state_at = head.index("STATE") if coloured and "STATE" in head else None
    yield line(head, widths)
    yield from (line(row, widths, state_at=state_at) for row in cells)


def line(cells: Sequence[str], widths: Sequence[int], *, gap: str = GAP, state_at: int | None = None) -> str:
    """Return printable cells as one line. Cells without a width are not padded. `state_at`: the cell with a colour."""
    padded = [*map(str.ljust, cells, widths), *cells[len(widths) :]]
    if state_at is not None:
        padded[state_at] = _coloured(padded[state_at])
    return gap.join(padded).rstrip()


def state_colour(state: str) -> str:
    """Return the escape sequence for the colour of a state; empty for one without a colour."""
    return COLOURS.get(tones.of_word(state), "")


def _coloured(state: str) -> str:
    """Return a padded state in its colour."""
    colour = state_colour(state.rstrip())
    return f"{colour}{state}{_RESET}" if colour else state


def width_of(text: str) -> int:
    """Return the cells that the text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def cut(text: str, width: int) -> str:
    """Return the text with at most `width` cells; an ellipsis shows what is missing."""
    if width_of(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _character_width(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Return the text with exactly `width` cells."""
    fitting = cut(text, width)
    return fitting + " " * (width - width_of(fitting))


def _character_width(character: str) -> int:
    import unicodedata  # noqa: PLC0415 - only text beyond ASCII needs it

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
