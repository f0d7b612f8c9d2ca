"""Colours of states on a terminal. Text is passed through `printable_line` before it is coloured."""

from torpor_wire.text import printable_line

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
