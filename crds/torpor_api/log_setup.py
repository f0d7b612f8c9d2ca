"""How a process of Torpor writes its log: records that hold text from outside, safe to print.

What a server answered or a user named can hold escape sequences, and newlines behind which a record of its own making
follows. Here so that the operator and the archive write alike; the triggerer has a handler of its own.
"""

import logging
import sys

from torpor_wire.text import log_text


class Formatter(logging.Formatter):
    """Writes each record with what a terminal obeys escaped, and its further lines indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's text."""
        return log_text(super().format(record))


def configure(layout: str) -> None:
    """Let the root logger write to standard error, records of level INFO and above."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter(layout))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
