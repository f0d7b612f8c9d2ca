"""Widths of text in a terminal: wide characters take two cells, combining ones none. Pure."""

import unicodedata

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
