"""Prints lines of logs with the name of their source. Text of a container is escaped; only the prefix has a colour."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from torpor_client.logs import log_text
from torpor_client.logs.source import LogLine, LogSource
from torpor_wire import instance_paths
from torpor_wire.text import printable_line

from torpor_cli import output
from torpor_cli.table import padded, width_of

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
_RESET = "\x1b[0m"


@dataclass(slots=True)
class Prefixes:
    """Writes prefixes of equal width. The width grows with the sources that appear."""

    colour: bool = False
    width: int = 0

    def widen(self, names: Iterable[str]) -> None:
        """Make room for these names."""
        self.width = max([self.width, *(width_of(printable_line(name)) for name in names)])

    def text(self, name: str, task: str) -> str:
        """Return `load[3] a1 s0 | `."""
        shown = printable_line(name)
        self.width = max(self.width, width_of(shown))
        prefix = f"{padded(shown, self.width)} | "
        return f"\x1b[{colour_of(task)}m{prefix}{_RESET}" if self.colour else prefix


def colour_of(task: str) -> int:
    """Return the colour of a task: the same in every run."""
    return _COLOURS[crc32(task.encode()) % len(_COLOURS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStyle:
    """How lines are printed."""

    json: bool = False
    prefix: bool = True
    times: bool = False


class LogPrinter:
    """Prints lines on standard output."""

    def __init__(self, style: LineStyle) -> None:
        self._style = style
        self._prefixes = Prefixes(colour=output.coloured())

    def widen(self, sources: Iterable[LogSource]) -> None:
        """Make room for the prefixes of these logs."""
        self._prefixes.widen(source.name for source in sources)

    def write(self, line: LogLine) -> None:
        """Print a line."""
        if self._style.json:
            output.line(json.dumps(as_json(line)))
            return
        if self._style.prefix:
            sys.stdout.write(self._prefixes.text(line.source.name, line.source.key.task))
        time = f"{log_text.written(line.at)} " if self._style.times else ""
        output.line(time + line.text)


def as_json(line: LogLine) -> dict[str, object]:
    """Return a line as an object of JSON Lines."""
    key = line.source.key
    return {
        "at": log_text.written(line.at),
        "task": key.task,
        "index": instance_paths.written(key.path),
        "attempt": key.attempt,
        "segment": key.segment,
        "launch": key.launch,
        "kind": key.kind,
        "earlier": line.source.earlier,
        "text": line.text,
    }
