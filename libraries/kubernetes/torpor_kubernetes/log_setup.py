"""Configures logging so that text from outside is safe to print.

Server responses and user-chosen names may contain escape sequences, and newlines that imitate a log record. The
operator and the archive use this module; the triggerer has its own handler.
"""

import logging
import sys

from torpor_wire.text import log_text


class Formatter(logging.Formatter):
    """Escapes control characters and indents continuation lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        return log_text(super().format(record))


def configure(layout: str) -> None:
    """Log records of level INFO and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter(layout))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
