"""Restores the process's logging whenever the modules of trigger classes change it.

Some libraries configure logging for the whole process when they are imported; Airflow does. A foreign handler writes
lines without their TaskRun and with plain secrets. So everything is restored after the classes are loaded and once a
second, and output to the standard streams becomes log lines.

This guards against libraries, not against malice: the code of a trigger class runs in this process and is trusted.
"""

import io
import logging
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Never, TextIO

from torpor_kubernetes.timing import Clock

from torpor_triggerer.logs.trigger_log import TriggerLog

CHECK_SECONDS = 1.0
REPORT_EVERY = 60.0
LEVEL = logging.INFO
_LINE_MAX = 64 * 1024
_SHOWN = 12
_STRUCTLOG_MARK = "_torpor_factory"

log = logging.getLogger(__name__)


class LogGuard:
    """Guards the root logger's handler and the standard streams."""

    def __init__(self, trigger_log: TriggerLog, stream: TextIO) -> None:
        self._root = logging.getLogger()
        self._stream = stream
        self._handler = trigger_log.handler(stream)
        self._streams = {
            name: LoggedStream(self._handler, source, getattr(sys, source))
            for name, source in _STANDARD_STREAMS.items()
        }

    def restore(self) -> tuple[str, ...]:
        """Restore everything; return what had changed."""
        changes = tuple(self._changes())
        _route_structlog()
        return changes

    def check(self) -> None:
        """Restore everything, and log what had changed."""
        changes = self.restore()
        if changes:
            _report(changes)

    async def run(self, clock: Clock) -> Never:
        """Check until cancelled; log repeated changes once a minute."""
        reported_at = float("-inf")
        while True:
            await clock.sleep(CHECK_SECONDS)
            try:
                changes = self.restore()
            except Exception:
                log.exception("Failed to restore the process's logging")
                continue
            if changes and clock.monotonic() >= reported_at + REPORT_EVERY:
                reported_at = clock.monotonic()
                _report(changes)

    def _changes(self) -> Iterator[str]:
        yield from self._restore_module()
        yield from self._restore_root()
        for name, logger in tuple(self._root.manager.loggerDict.items()):
            if isinstance(logger, logging.Logger) and _restore_logger(name, logger):
                yield f"logger {name[:100]}"
        for name, stream in self._streams.items():
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
                yield f"sys.{name}"

    def _restore_module(self) -> Iterator[str]:
        if self._root.manager.disable > logging.NOTSET:
            logging.disable(logging.NOTSET)
            yield "logging.disable"
        if _diverts(logging.getLoggerClass()) or _diverts(self._root.manager.loggerClass or logging.Logger):
            logging.setLoggerClass(logging.Logger)
            self._root.manager.loggerClass = None
            yield "the class of loggers"
        if logging.root is not self._root:
            logging.root = logging.Logger.root = self._root  # type: ignore[assignment]  # typed as its own class
            yield "logging.root"

    def _restore_root(self) -> Iterator[str]:
        handler, root = self._handler, self._root
        if root.handlers != [handler] or root.filters or root.disabled:
            root.handlers, root.filters, root.disabled = [handler], [], False
            yield "the handlers of the root logger"
        if handler.filters or handler.level != logging.NOTSET or handler.stream is not self._stream:
            handler.filters, handler.stream = [], self._stream
            handler.setLevel(logging.NOTSET)
            yield "the handler itself"
        if root.level != LEVEL:
            root.setLevel(LEVEL)
            yield "the level of the root logger"


def _report(changes: tuple[str, ...]) -> None:
    log.warning("A trigger class changed the process's logging; restored: %s", ", ".join(changes[:_SHOWN]))


_STANDARD_STREAMS = {"stdout": "stdout", "stderr": "stderr", "__stdout__": "stdout", "__stderr__": "stderr"}
"""The attributes of `sys` that are replaced, and the names of their lines."""


def _restore_logger(name: str, logger: logging.Logger) -> bool:
    """Make its records reach the root logger only. Return whether they did not."""
    foreign = [handler for handler in logger.handlers if not isinstance(handler, logging.NullHandler)]
    is_own = name.partition(".")[0].startswith("torpor")
    if not (foreign or logger.disabled or not logger.propagate or (is_own and logger.level) or _diverts(type(logger))):
        return False
    logger.handlers = [handler for handler in logger.handlers if handler not in foreign]
    logger.disabled, logger.propagate = False, True
    if is_own:
        logger.setLevel(logging.NOTSET)
    if _diverts(type(logger)):
        logger.__class__ = logging.Logger
    return True


def _diverts(logger_class: type[logging.Logger]) -> bool:
    """Whether a class of loggers handles records by itself."""
    return (
        logger_class.handle is not logging.Logger.handle or logger_class.callHandlers is not logging.Logger.callHandlers
    )


class LoggedStream(io.TextIOBase):
    """Replaces a standard stream: each written line becomes a log line of the code that writes it."""

    def __init__(self, handler: logging.Handler, name: str, original: TextIO) -> None:
        super().__init__()
        self._handler = handler
        self._name = name
        self._original = original
        self._begun = threading.local()
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the log."""
        return "utf-8"

    @property
    def name(self) -> str:
        """The name of the stream in the interpreter."""
        return f"<{self._name}>"

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return that of the stream itself, for code such as the crash handler of the interpreter."""
        return self._original.fileno()

    def write(self, text: str) -> int:
        """Log each line once it is complete."""
        begun = getattr(self._begun, "text", "") + text
        *lines, rest = begun.split("\n")
        if len(rest) > _LINE_MAX:
            lines, rest = [*lines, rest], ""
        self._begun.text = rest
        for line in lines:
            self._handler.handle(logging.LogRecord(self._name, LEVEL, "", 0, "%s", (line,), None))
        return len(text)

    def close(self) -> None:
        """Do nothing: others use the stream."""


class _Bytes(io.RawIOBase):
    def __init__(self, lines: LoggedStream) -> None:
        super().__init__()
        self._lines = lines

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        content = bytes(memoryview(data))  # type: ignore[arg-type]  # whatever has a buffer
        self._lines.write(content.decode(errors="replace"))
        return len(content)

    def close(self) -> None:
        pass


def _route_structlog() -> None:
    """Route structlog through `logging`, so that its lines are attributed and redacted.

    structlog writes to standard output by default. It is no dependency of Torpor: it is configured only if a trigger
    class has imported it.
    """
    structlog = sys.modules.get("structlog")
    if structlog is None:
        return
    try:
        if not _is_structlog_routed(structlog):
            _configure_structlog(structlog)
    except Exception as error:  # noqa: BLE001 - a library of unknown version
        log.warning("Failed to route structlog through logging: %s", type(error).__name__)


def _is_structlog_routed(structlog: Any) -> bool:
    ours = getattr(structlog, _STRUCTLOG_MARK, None)
    return ours is not None and structlog.get_config().get("logger_factory") is ours


def _configure_structlog(structlog: Any) -> None:
    stdlib, processors, contexts = (
        import_module(f"structlog.{name}") for name in ("stdlib", "processors", "contextvars")
    )
    factory = stdlib.LoggerFactory()
    structlog.configure(
        processors=[
            contexts.merge_contextvars,
            processors.format_exc_info,
            processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=stdlib.BoundLogger,
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )
    setattr(structlog, _STRUCTLOG_MARK, factory)
