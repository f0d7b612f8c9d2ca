"""Attributes log lines to the wait whose trigger wrote them, keeps the last ones, and redacts secrets.

A context variable names the wait whose code runs, so lines of libraries count, from any logger. Tasks and
threads that a trigger starts inherit it. In a line that belongs to no wait, every secret known here is redacted.
"""

import logging
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TextIO
from weakref import WeakSet

from torpor_kubernetes.log_setup import LogFormat, json_line
from torpor_wire.text import log_text, printable_line

from torpor_triggerer.logs import redaction

LINES = 20
LINE_MAX = 300
HIDDEN_MAX = 100
"""Texts that a trigger hides at a time."""
HIDDEN_TEXT_MAX = 64 * 1024
_SPELLINGS_MAX = 2_000
"""Of all secrets of one log: each line is searched for all of them."""

_NOT_KEPT = frozenset(
    {
        "torpor_triggerer.usercode.invoke",
        "torpor_triggerer.running.lifecycle",
        "torpor_triggerer.running.completion",
        "torpor_triggerer.running.shared_triggers",
        "torpor_triggerer.reporting.status_writer",
    }
)
"""Loggers whose lines repeat what the outcome contains; they would replace the trigger's own lines."""

_current: ContextVar["WaitLog | None"] = ContextVar("torpor_triggerer.wait_log", default=None)


class LogOwner(Protocol):
    """A wait, or a trigger that waits share."""

    @property
    def tag(self) -> str:
        """The prefix of its lines."""

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        """The same as fields of a line of JSON."""


class TriggerLogLine(NamedTuple):
    """One line; `number` counts the lines of the process, `at` is seconds since the epoch."""

    number: int
    text: str
    at: float = 0.0


class _MergedSecrets(NamedTuple):
    """The secrets of two logs. Each line is searched for them, so they are merged only after a change."""

    own: redaction.Spellings
    followed: redaction.Spellings
    both: redaction.Spellings


class WaitLog:
    """The last lines of one owner; takes no memory before the first."""

    __slots__ = (
        "__weakref__",
        "_followed",
        "_lines",
        "_merged",
        "_owner",
        "_secrets",
        "_since",
        "_trigger_log",
        "omitted",
    )

    def __init__(self, owner: LogOwner, trigger_log: "TriggerLog") -> None:
        self._owner = owner
        self._trigger_log = trigger_log
        self._lines: deque[TriggerLogLine] | None = None
        self._secrets: redaction.Spellings = ()
        self._followed: WaitLog | None = None
        self._merged: _MergedSecrets | None = None
        self._since = 0
        self.omitted = 0
        """Characters of earlier lines of its own that are not kept."""

    @property
    def tag(self) -> str:
        """The prefix of its lines."""
        return self._owner.tag

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        """The fields of its lines of JSON."""
        return self._owner.log_fields

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines without prefix, oldest first: its own, and those of the log that it follows."""
        return tuple(line.text for line in self.records)

    @property
    def records(self) -> tuple[TriggerLogLine, ...]:
        """The same lines with their times."""
        followed = () if self._followed is None else self._followed.recent(self._since)
        return tuple(sorted((*self.recent(), *followed))[-LINES:])

    @property
    def is_empty(self) -> bool:
        """Whether it has neither lines nor secrets, so that a new one is the same."""
        return not (self._lines or self._secrets or self._followed)

    def recent(self, since: int = 0) -> tuple[TriggerLogLine, ...]:
        """Return its own last lines from a number on."""
        return tuple(line for line in self._lines or () if line.number >= since)

    def follow(self, other: "WaitLog") -> None:
        """Include the lines of another log from now on."""
        self._followed, self._since = other, self._trigger_log.count

    def set_secrets(self, secrets: Collection[str]) -> None:
        """Redact these from now on."""
        self._set(redaction.spellings(secrets))

    def copy_secrets(self, other: "WaitLog") -> None:
        """Redact what another log redacts."""
        self._set(other.secrets)

    def add_secrets(self, secrets: Collection[str]) -> None:
        """Redact these, too. Raises ValueError if that would be too many."""
        merged = redaction.merged(self._secrets, redaction.spellings(secrets))
        if len(merged) > _SPELLINGS_MAX:
            raise ValueError("the trigger hides too many texts")
        self._set(merged)

    @property
    def secrets(self) -> redaction.Spellings:
        """What it redacts: its own secrets, and those that a trigger whose log it follows has found."""
        if self._followed is None:
            return self._secrets
        own, followed = self._secrets, self._followed.secrets
        if self._merged is None or self._merged.own is not own or self._merged.followed is not followed:
            self._merged = _MergedSecrets(own, followed, redaction.merged(own, followed))
        return self._merged.both

    def _set(self, secrets: redaction.Spellings) -> None:
        self._secrets = secrets
        if secrets:
            self._trigger_log.with_secrets.add(self)

    def redact(self, text: str) -> str:
        """Return the text without the secrets of this wait."""
        return redaction.redact(text, self.secrets)

    def redact_event(self, event: str) -> str:
        """Return an event's JSON text without the secrets of this wait."""
        return redaction.redact_json(event, self.secrets)

    def append(self, line: str, at: float = 0.0) -> None:
        """Keep a line as the last one; `at` is its time in seconds since the epoch."""
        if self._lines is None:
            self._lines = deque(maxlen=LINES)
        if len(self._lines) == LINES:
            self.omitted += len(self._lines[0].text)
        text = line if len(line) <= LINE_MAX else line[: LINE_MAX - 3] + "..."
        self._lines.append(TriggerLogLine(self._trigger_log.next_number(), text, at))

    def activate(self) -> None:
        """Attribute all lines of the current task to this log from now on."""
        _current.set(self)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Attribute lines inside the block to this log."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def hide(texts: Collection[str]) -> None:
    """Redact texts that the trigger of the current task has found. Raises ValueError beyond the limits of a call."""
    if len(texts) > HIDDEN_MAX or any(len(text) > HIDDEN_TEXT_MAX for text in texts):
        raise ValueError(f"a trigger hides up to {HIDDEN_MAX} texts of {HIDDEN_TEXT_MAX} characters at a time")
    wait_log = _current.get()
    if wait_log is not None:
        wait_log.add_secrets(texts)


class TriggerLog:
    """All wait logs of a process."""

    def __init__(self, log_format: LogFormat = LogFormat.TEXT) -> None:
        self.log_format = log_format
        self.with_secrets: WeakSet[WaitLog] = WeakSet()
        self.count = 0
        """Lines kept so far."""

    def create(self, owner: LogOwner) -> WaitLog:
        """Create the log of an owner."""
        return WaitLog(owner, self)

    def next_number(self) -> int:
        """Return the number of the next line."""
        self.count += 1
        return self.count - 1

    def redact(self, text: str) -> str:
        """Return the text without any known secret."""
        for wait_log in tuple(self.with_secrets):
            text = wait_log.redact(text)
        return text

    def handler(self, stream: TextIO) -> logging.StreamHandler[TextIO]:
        """Create the root logger's handler: it writes each record to the stream and to the active wait log."""
        return _TriggerLogHandler(self, stream)


class _TriggerLogHandler(logging.StreamHandler[TextIO]):
    def __init__(self, trigger_log: TriggerLog, stream: TextIO) -> None:
        super().__init__(stream)
        self._trigger_log = trigger_log

    def format(self, record: logging.LogRecord) -> str:
        wait_log = _current.get()
        text = _text(record)
        text = wait_log.redact(text) if wait_log else self._trigger_log.redact(text)
        head = f"{_PLAIN.formatTime(record)} {record.levelname} {record.name}:"
        is_json = self._trigger_log.log_format is LogFormat.JSON
        if wait_log is None:
            return json_line(record, "triggerer", text) if is_json else log_text(f"{head} {text}")
        # Split before escaping: a separator that Python knows and a terminal does not must not start a line either.
        lines = [printable_line(line) for line in text.splitlines()] or [""]
        if record.name not in _NOT_KEPT:
            wait_log.append(f"{head} {lines[0]}", record.created)
        if is_json:
            return json_line(record, "triggerer", text, fields=wait_log.log_fields)
        return "\n".join(f"{head} {wait_log.tag} {line}" for line in lines)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Report the error without the arguments of the record, which may contain a secret."""
        self.stream.write(f"Failed to write a log record of {record.name} at {record.pathname}:{record.lineno}\n")


_PLAIN = logging.Formatter()


def _text(record: logging.LogRecord) -> str:
    parts = [record.getMessage()]
    if record.exc_info:
        parts.append(_PLAIN.formatException(record.exc_info))
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)
