"""Draws lines again in place on a terminal."""

import shutil
import sys
from collections.abc import Sequence

_UP = "\x1b[{}A"
_CLEAR = "\x1b[0J"


class Screen:
    """The lines that were drawn last. Lines that do not fit on the terminal are left out until the end."""

    def __init__(self) -> None:
        self._drawn: list[str] = []

    def draw(self, lines: Sequence[str], *, whole: bool) -> None:
        """Replace the lines. `whole`: also those that do not fit, since nothing is drawn afterwards."""
        height = shutil.get_terminal_size().lines
        shown = list(lines)
        if not whole and len(shown) >= height:
            left_out = len(shown) - height + 2
            shown = [*shown[: height - 2], f"... {left_out} more lines"]
        if shown == self._drawn:
            return
        up = _UP.format(len(self._drawn)) if self._drawn else ""
        sys.stdout.write(f"{up}\r{_CLEAR}" + "".join(f"{line}\n" for line in shown))
        sys.stdout.flush()
        self._drawn = shown
