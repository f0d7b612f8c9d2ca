"""Text from outside, made safe to print: exceptions, answers of servers, names, and what user code says.

A terminal obeys escape sequences: they clear the screen, retitle the window, or hide what a line says. kubectl and
`kubectl logs` print what stands on an object or in a log as it is, so it is escaped where it is written. Pure.
"""

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, DEL; not tab and newline
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""They change the order in which characters are shown, so that a line reads otherwise than it is."""
_SEPARATORS = "\u2028\u2029"
_UNPRINTABLE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_SEPARATORS}\ud800-\udfff]")
_LINE_BREAKS = re.compile(r"[\t\n]")

PRINTABLE_PATTERN = rf"^[^{_CONTROLS}]*$"
"""For the API server: what a status may hold in fields of text. The directions are escaped and not refused."""
PRINTABLE_LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"


def printable(text: str) -> str:
    r"""The text with every character that a terminal obeys written as an escape: `\x1b`, `\u202e`.

    Tabs and newlines stay. Text that was made printable stays as it is.
    """
    return _UNPRINTABLE.sub(_escaped, text)


def printable_line(text: str) -> str:
    """The same in one line: tabs and newlines become escapes, too."""
    return _LINE_BREAKS.sub(_escaped, printable(text))


def log_text(text: str) -> str:
    """The same for a record of a log: further lines are indented, so that none can pass for a record of its own."""
    return printable(text).replace("\n", "\n    ")


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")
