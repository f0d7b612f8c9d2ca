"""Lines of logs as the page gets them. Pure."""

import re
from typing import Any

from torpor_client.logs import log_text
from torpor_client.logs.severity import severity
from torpor_client.logs.source import LogLine, LogSource
from torpor_wire.enums import LogKind
from torpor_wire.text import printable, printable_line

_SECOND = 1_000_000_000
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,30}m")
NOTE = "note"
"""The stream of a line that the server wrote."""


def as_json(line: LogLine) -> dict[str, Any]:
    """Return a line. Colours are left out; other control and bidirectional characters of its text are visible."""
    text = printable(_COLOUR.sub("", line.text)) if "\x1b" in line.text else printable(line.text)
    return {
        "t": line.at / _SECOND if line.at else None,
        "source": source_name(line.source),
        "stream": "",
        "severity": severity(text),
        "text": text,
        "attempt": line.source.key.attempt,
        "segment": line.source.key.segment,
        "launch": line.source.key.launch,
        "earlier": line.source.earlier,
    }


def note(sentence: str, now: float) -> dict[str, Any]:
    """Return a sentence on what is missing as a line."""
    return {
        "t": now,
        "source": "",
        "stream": NOTE,
        "severity": "warning",
        "text": printable_line(sentence),
        "attempt": 0,
        "segment": 0,
    }


def source_name(source: LogSource) -> str:
    """Return the pod of a log; `wait` for that of a wait."""
    return "wait" if source.key.kind is LogKind.WAIT else source.pod


def as_text(line: LogLine) -> str:
    """Return a line of the download: its time, where it is from, its text unchanged."""
    return f"{log_text.written(line.at)} {line.source.name} | {line.text}\n"
