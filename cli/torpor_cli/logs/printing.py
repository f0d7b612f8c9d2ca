"""Prints lines of logs with the name of their source. Text of a container is escaped; only the prefix has a colour."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from torpor_wire import instance_paths

from torpor_cli import output
from torpor_cli.logs import timestamps
from torpor_cli.logs.source import LogLine, LogSource
from torpor_cli.render.log_lines import Prefixes


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
        time = f"{timestamps.written(line.at)} " if self._style.times else ""
        output.line(time + line.text)


def as_json(line: LogLine) -> dict[str, object]:
    """Return a line as an object of JSON Lines."""
    key = line.source.key
    return {
        "at": timestamps.written(line.at),
        "task": key.task,
        "index": instance_paths.written(key.path),
        "attempt": key.attempt,
        "segment": key.segment,
        "launch": key.launch,
        "kind": key.kind,
        "earlier": line.source.earlier,
        "text": line.text,
    }
