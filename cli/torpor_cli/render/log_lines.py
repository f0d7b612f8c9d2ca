"""Lines of logs as text: a prefix that names the source, in a colour for each task. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from torpor_wire.text import printable_line

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
_RESET = "\x1b[0m"


@dataclass(slots=True)
class Prefixes:
    """Writes prefixes of equal width. The width grows with the sources that appear."""

    colour: bool = False
    width: int = 0

    def widen(self, names: Iterable[str]) -> None:
        """Make room for these names."""
        self.width = max([self.width, *(len(printable_line(name)) for name in names)])

    def text(self, name: str, task: str) -> str:
        """Return `load[3] a1 s0 | `."""
        shown = printable_line(name)
        self.width = max(self.width, len(shown))
        padded = f"{shown.ljust(self.width)} | "
        return f"\x1b[{colour_of(task)}m{padded}{_RESET}" if self.colour else padded


def colour_of(task: str) -> int:
    """Return the colour of a task: the same in every run."""
    return _COLOURS[crc32(task.encode()) % len(_COLOURS)]
