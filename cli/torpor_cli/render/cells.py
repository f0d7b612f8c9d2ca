"""Cells of text in a terminal: their width, and the colours of states.

Wide characters take two cells, combining ones none. Text passes `printable_line` before it is coloured.
"""

import unicodedata

from torpor_wire.text import printable_line

_ELLIPSIS = "…"


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
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


_RESET = "\x1b[0m"
_COLOURS = {
    "Succeeded": "\x1b[32m",
    "Failed": "\x1b[31m",
    "UpstreamFailed": "\x1b[31m",
    "Cancelled": "\x1b[33m",
    "Cancelling": "\x1b[33m",
    "Running": "\x1b[36m",
    "Finishing": "\x1b[36m",
    "Deferred": "\x1b[34m",
    "UpForRetry": "\x1b[33m",
    "Suspended": "\x1b[33m",
}


def state(word: str, *, coloured: bool, width: int = 0) -> str:
    """Return a state padded to a width, in its colour."""
    text = printable_line(word).ljust(width)
    colour = _COLOURS.get(word) if coloured else None
    return f"{colour}{text}{_RESET}" if colour else text


def cell(text: str, *, coloured: bool) -> str:
    """Return a padded cell of a table with a state, in its colour."""
    return state(text.rstrip(), coloured=coloured, width=len(text))
