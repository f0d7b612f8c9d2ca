"""Configures logging so that text from outside is safe to print, as lines for people or as JSON for machines.

Server responses and user-chosen names may contain escape sequences, and newlines that imitate a log record. Operator,
archive and page use this module. The triggerer has its own handler, and takes the JSON from here.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

from torpor_wire.text import log_text

_NO_FIELDS: Mapping[str, str | int] = MappingProxyType({})
_fields: ContextVar[Mapping[str, str | int]] = ContextVar("torpor_kubernetes.log_fields", default=_NO_FIELDS)
_EXCEPTIONS = logging.Formatter()


class LogFormat(StrEnum):
    """How a process writes its log."""

    TEXT = "text"
    JSON = "json"


@contextmanager
def log_fields(**fields: str | int) -> Iterator[None]:
    """Add fields to the JSON of each line that the current task logs in the block, and the tasks that it creates."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


class Formatter(logging.Formatter):
    """Escapes control characters and indents continuation lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        return log_text(super().format(record))


class JsonFormatter(logging.Formatter):
    """Writes each record as one line of JSON. Whatever is not ASCII is escaped."""

    def __init__(self, component: str) -> None:
        super().__init__()
        self._component = component

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        exception = _EXCEPTIONS.formatException(record.exc_info) if record.exc_info else ""
        return json_line(record, self._component, record.getMessage(), exception=exception, fields=_fields.get())


def json_line(
    record: logging.LogRecord,
    component: str,
    message: str,
    *,
    exception: str = "",
    fields: Mapping[str, str | int] = _NO_FIELDS,
) -> str:
    """One line of JSON: when, which component and logger, what, and the fields of the context, such as the run."""
    line = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname,
        "component": component,
        "logger": record.name,
        "message": message,
        **fields,
    }
    return json.dumps(line | {"exception": exception} if exception else line)


def configure(layout: str, log_format: LogFormat = LogFormat.TEXT, *, component: str = "") -> None:
    """Log records of level INFO and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(component) if log_format is LogFormat.JSON else Formatter(layout))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
