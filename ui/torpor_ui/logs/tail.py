"""The last lines of a log, in bounded memory. Pure."""

from collections import deque
from dataclasses import dataclass, field

from torpor_client.logs.source import LogLine

LINES_MAX = 5000
CHARACTERS_MAX = 4 * 1024 * 1024


@dataclass(slots=True)
class LogTail:
    """The last lines that were added. `left_out` counts the others."""

    lines_max: int = LINES_MAX
    characters_max: int = CHARACTERS_MAX
    left_out: int = 0
    lines: deque[LogLine] = field(default_factory=deque)
    _characters: int = 0

    def add(self, line: LogLine) -> None:
        """Add a line, and forget the oldest ones."""
        self.lines.append(line)
        self._characters += len(line.text)
        while len(self.lines) > self.lines_max or self._characters > self.characters_max:
            self._characters -= len(self.lines.popleft().text)
            self.left_out += 1
