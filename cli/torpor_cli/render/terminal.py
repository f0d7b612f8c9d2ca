"""Draws on the terminal of this process: how a tree looks, and lines that are drawn again in place."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_client.runs import run_state

from torpor_cli import output
from torpor_cli.render.tree import ASCII, UNICODE, RenderOptions

_UP = "\x1b[{}A"
_CLEAR = "\x1b[0J"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """The lines that were drawn last. Lines that do not fit on the terminal are left out until the end."""

    def __init__(self) -> None:
        self._drawn: list[str] = []

    def draw(self, lines: Sequence[str], *, whole: bool) -> None:
        """Replace the lines. `whole`: also those that do not fit, since nothing is drawn afterwards."""
        size = shutil.get_terminal_size()
        shown = list(lines) if whole else fitting(lines, size.columns, size.lines)
        if shown == self._drawn:
            return
        above = sum(rows(line, size.columns) for line in self._drawn)
        up = _UP.format(above) if above else ""
        sys.stdout.write(f"{up}\r{_CLEAR}" + "".join(f"{line}\n" for line in shown))
        sys.stdout.flush()
        self._drawn = shown


def rows(line: str, columns: int) -> int:
    """Return how many rows of a terminal a line takes. Pure."""
    return max(-(-len(_COLOUR.sub("", line)) // max(columns, 1)), 1)


def fitting(lines: Sequence[str], columns: int, height: int) -> list[str]:
    """Return the first lines that fit, and a line that counts the others. Pure."""
    taken = 0
    for place, line in enumerate(lines):
        taken += rows(line, columns)
        if taken >= height:
            kept = max(place - 1, 0)
            return [*lines[:kept], f"... {len(lines) - kept} more lines"]
    return list(lines)


def render_options(workflow: Mapping[str, Any], *, wide: bool) -> RenderOptions:
    """Return how to draw the tree of a run."""
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    return RenderOptions(
        branches=UNICODE if unicode else ASCII,
        coloured=output.coloured(),
        wide=wide,
        width=shutil.get_terminal_size().columns if output.interactive() and not wide else 0,
        state=run_state.word_of(workflow),
        why=run_state.stalled(workflow),
    )
