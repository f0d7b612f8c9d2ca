"""The log of the operator and the archive: what is from outside is safe to print."""

import logging

from torpor_kubernetes import log_setup


def written(message: str, *arguments: object) -> str:
    record = logging.LogRecord("a", logging.WARNING, "f.py", 1, message, arguments, None)
    return log_setup.Formatter("%(levelname)s %(message)s").format(record)


def test_escape_sequences_are_escaped_and_no_forged_line_begins() -> None:
    assert written("ns/%s: %s", "run", "\x1b[2Jgone") == "WARNING ns/run: \\x1b[2Jgone"
    assert written("%s", "a\nINFO all is well\r") == "WARNING a\n    INFO all is well\\r"
