"""What has been shown of a log, so that a log that is read again continues without a gap or a repetition. Pure."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from torpor_cli.logs.source import LogLine, Nanoseconds


@dataclass(slots=True)
class LogCursor:
    """The time of the last line that was shown, and the number of lines with this time."""

    at: Nanoseconds = 0
    count: int = 0

    def note(self, line: LogLine) -> None:
        """Remember a line that is shown."""
        if line.at > self.at:
            self.at, self.count = line.at, 0
        if line.at == self.at:
            self.count += 1


def unseen(lines: Iterable[LogLine], progress: LogCursor) -> Generator[LogLine, None, None]:
    """Return the lines after those that the progress has, and remember them in it.

    The API server reads a log from a whole second on, so the first lines may be known.
    """
    last, known = progress.at, progress.count
    for line in lines:
        if line.at < last:
            continue
        if line.at == last and known:
            known -= 1
            continue
        progress.note(line)
        yield line
