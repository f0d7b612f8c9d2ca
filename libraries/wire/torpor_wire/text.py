"""Makes foreign text safe to print: exceptions, responses, names, and output of user code. Pure.

Terminals obey escape sequences, which clear the screen or hide a line. kubectl prints status and logs unchanged, so
text is escaped where it is written.
"""

import re
from functools import cache

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, DEL; not tab and newline
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of text, so that a line reads differently."""
_SEPARATORS = "\u2028\u2029"
_LINE_BREAKS = re.compile(r"[\t\n]")

PRINTABLE_PATTERN = rf"^[^{_CONTROLS}]*$"
"""The pattern of text fields of a status. Direction characters are escaped by writers but not rejected."""
PRINTABLE_LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"


def printable(text: str) -> str:
    r"""Return the text with control characters as escapes: `\x1b`, `\u202e`. Tabs and newlines stay. Idempotent."""
    return _unprintable().sub(_escaped, text)


def printable_line(text: str) -> str:
    """Return the text as one line: tabs and newlines become escapes as well."""
    return _LINE_BREAKS.sub(_escaped, printable(text))


def log_text(text: str) -> str:
    """Return the text for a log record: following lines are indented, so that none looks like another record."""
    return printable(text).replace("\n", "\n    ")


@cache
def _unprintable() -> re.Pattern[str]:
    """Return the pattern, which a task pod that succeeds does not need. It takes half a millisecond to compile."""
    return re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_SEPARATORS}\ud800-\udfff]")


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")
