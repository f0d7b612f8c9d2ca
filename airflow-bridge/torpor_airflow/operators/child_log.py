"""Writes the log lines of an interpreter that an operator starts to the log of the task, whose filter masks secrets."""

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_MAX = 64 << 10
"""Bytes of a line. The rest of a longer one is left out."""
_CUT = " … (cut)"
_OF_EACH_LINE = {"timestamp", "level", "event", "logger", "filename", "lineno"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLogLine:
    """A text with its level, as numbers of `logging`."""

    level: int
    text: str


def write(lines: int) -> None:
    """Write the lines of a pipe until its end."""
    log = logging.getLogger("task")
    with os.fdopen(lines, "rb") as read:
        for line in _bounded(read):
            parsed = parse(line)
            log.log(parsed.level, "%s", parsed.text)


def parse(line: bytes) -> ChildLogLine:
    """Return the level of a line of Airflow's JSON log, and its event with its fields, such as `exception`.

    Lines of another form stay as they are.
    """
    text = line.decode(errors="replace").rstrip("\r\n")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or "event" not in given:
        return ChildLogLine(level=logging.INFO, text=text)
    level = logging.getLevelNamesMapping().get(str(given.get("level")).upper()) or logging.INFO
    fields = {key: value for key, value in given.items() if key not in _OF_EACH_LINE}
    event = str(given["event"])
    return ChildLogLine(level=level, text=f"{event} {json.dumps(fields, ensure_ascii=False)}" if fields else event)


def _bounded(read: BinaryIO) -> Iterator[bytes]:
    """Yield each line, without what exceeds the bound."""
    while line := read.readline(LINE_MAX):
        is_whole = line.endswith(b"\n") or len(line) < LINE_MAX
        yield line if is_whole else line + _CUT.encode()
        while not is_whole and (rest := read.readline(LINE_MAX)):
            is_whole = rest.endswith(b"\n")
