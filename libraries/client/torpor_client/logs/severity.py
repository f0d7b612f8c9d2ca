"""How severe a line of a log is, by the words that loggers write. Pure."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "info", "debug", ""]
"""Empty: the line does not say."""
_READ = 400
"""Characters at the beginning of a line in which its level is."""
_WORDS: Mapping[str, Severity] = {
    **dict.fromkeys(("fatal", "panic", "critical", "emergency", "alert", "error", "err", "severe"), "error"),
    **dict.fromkeys(("warning", "warn"), "warning"),
    **dict.fromkeys(("info", "notice", "information"), "info"),
    **dict.fromkeys(("debug", "trace", "verbose", "fine"), "debug"),
}
_KLOG: Mapping[str, Severity] = {"E": "error", "F": "error", "W": "warning", "I": "info", "D": "debug"}
_ANY = "|".join(_WORDS)
_FIELD = re.compile(
    rf"""["']?\b(?:level|severity|lvl|levelname|log\.level)["']?\s*[=:]\s*["']?({_ANY})\b""", re.IGNORECASE | re.ASCII
)
"""The level as a field of JSON or logfmt."""
_UPPER = re.compile(rf"(?:^|[\s\[(<|:])({_ANY.upper()})(?=$|[\s\])>|:,])", re.ASCII)
_TITLE = re.compile(rf"^\[?({'|'.join(word.capitalize() for word in _WORDS)}|{_ANY})\]?:", re.ASCII)
_LETTER = re.compile(r"^([EFWID])\d{4} \d\d:\d\d:\d\d", re.ASCII)
_EXCEPTION = re.compile(
    r"^(?:Traceback \(most recent call last\):|[\w.]*(?:Error|Exception)\b(?::|$)|panic: )", re.ASCII
)


def severity(text: str) -> Severity:
    """Return the severity of a line."""
    head = text[:_READ]
    for pattern in (_FIELD, _UPPER, _TITLE):
        if match := pattern.search(head):
            return _WORDS[match[1].lower()]
    if match := _LETTER.match(head):
        return _KLOG[match[1]]
    return "error" if _EXCEPTION.match(head) else ""
