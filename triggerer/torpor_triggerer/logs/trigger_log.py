"""What triggers say in the log: told apart by who speaks, the last lines kept, secrets blacked out.

A context variable says whose code runs, so that the lines of a library count too, by whatever logger they come. Tasks
and threads that a trigger starts inherit it. A line that comes from none of them is searched for every secret that is
known here.
"""

import logging
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TextIO
from weakref import WeakSet

from torpor_wire.text import log_text, printable_line

from torpor_triggerer.logs import redaction

LINES = 20
LINE_MAX = 300

_ASIDE = frozenset(
    {
        "torpor_triggerer.usercode.invoke",
        "torpor_triggerer.running.execution",
        "torpor_triggerer.running.shared_triggers",
        "torpor_triggerer.reporting.status_writer",
    }
)
"""What these say of a trigger stands in its outcome, and would take the place of what it said itself."""

_speaking: ContextVar["WaitLog | None"] = ContextVar("torpor_triggerer.page", default=None)


class Speaker(Protocol):
    """Whoever lines are of."""

    @property
    def tag(self) -> str:
        """How its lines are marked."""


class Line(NamedTuple):
    """One line; `number` counts the lines of the process."""

    number: int
    text: str


class WaitLog:
    """What one speaker said; holds nothing until it says something."""

    __slots__ = ("__weakref__", "_blots", "_heard", "_journal", "_lines", "_since", "_speaker")

    def __init__(self, speaker: Speaker, journal: "TriggerLog") -> None:
        self._speaker = speaker
        self._journal = journal
        self._lines: deque[Line] | None = None
        self._blots: redaction.Blots = ()
        self._heard: WaitLog | None = None
        self._since = 0

    @property
    def tag(self) -> str:
        """Whose line it is."""
        return self._speaker.tag

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, oldest first, without their tag: its own, and those of whom it has heard."""
        heard = () if self._heard is None else self._heard.said(self._since)
        return tuple(line.text for line in sorted((*self.said(), *heard))[-LINES:])

    def said(self, since: int = 0) -> tuple[Line, ...]:
        """Its own last lines from a number on."""
        return tuple(line for line in self._lines or () if line.number >= since)

    def hear(self, other: "WaitLog") -> None:
        """What the other says from now on is said for this one too."""
        self._heard, self._since = other, self._journal.numbered

    def hide(self, secrets: Collection[str]) -> None:
        """Black these out from now on."""
        self._blots = redaction.of(secrets)
        if self._blots:
            self._journal.secretive.add(self)

    @property
    def blotted(self) -> redaction.Blots:
        """What it blacks out."""
        return self._blots

    def hide_as(self, other: "WaitLog") -> None:
        """Black out what another does, from now on."""
        self._blots = other.blotted
        if self._blots:
            self._journal.secretive.add(self)

    def black_out(self, text: str) -> str:
        """The text without the secrets that this wait knows."""
        return redaction.black_out(text, self._blots)

    def clean(self, event: str) -> str:
        """An event's JSON text without them."""
        return redaction.clean(event, self._blots)

    def keep(self, line: str) -> None:
        """Remember a line, as one of the last."""
        if self._lines is None:
            self._lines = deque(maxlen=LINES)
        text = line if len(line) <= LINE_MAX else line[: LINE_MAX - 3] + "..."
        self._lines.append(Line(self._journal.number(), text))

    def open(self) -> None:
        """Everything that the present task says from now on is said by this wait."""
        _speaking.set(self)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """What is said inside is said by this wait."""
        token = _speaking.set(self)
        try:
            yield
        finally:
            _speaking.reset(token)


class TriggerLog:
    """All pages of a process."""

    def __init__(self) -> None:
        self.secretive: WeakSet[WaitLog] = WeakSet()
        self.numbered = 0
        """How many lines have been kept so far."""

    def page(self, speaker: Speaker) -> WaitLog:
        """A new page."""
        return WaitLog(speaker, self)

    def number(self) -> int:
        """Of the next line."""
        self.numbered += 1
        return self.numbered - 1

    def black_out(self, text: str) -> str:
        """The text without any secret known here, whosever it is."""
        for page in tuple(self.secretive):
            text = page.black_out(text)
        return text

    def handler(self, stream: TextIO) -> logging.StreamHandler[TextIO]:
        """For the root logger: writes each record to the stream, and on the page of whoever speaks."""
        return _Handler(self, stream)


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self, journal: TriggerLog, stream: TextIO) -> None:
        super().__init__(stream)
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        page = _speaking.get()
        text = _text(record)
        text = page.black_out(text) if page else self._journal.black_out(text)
        head = f"{_PLAIN.formatTime(record)} {record.levelname} {record.name}:"
        if page is None:
            return log_text(f"{head} {text}")
        # Split before it is escaped: a separator that Python knows and a terminal does not may begin no line either.
        lines = [printable_line(line) for line in text.splitlines()] or [""]
        if record.name not in _ASIDE:
            page.keep(f"{head} {lines[0]}")
        return "\n".join(f"{head} {page.tag} {line}" for line in lines)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Instead of logging's own, which shows the arguments, and so perhaps a secret."""
        self.stream.write(f"a log record of {record.name} at {record.pathname}:{record.lineno} cannot be written\n")


_PLAIN = logging.Formatter()


def _text(record: logging.LogRecord) -> str:
    parts = [record.getMessage()]
    if record.exc_info:
        parts.append(_PLAIN.formatException(record.exc_info))
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)
