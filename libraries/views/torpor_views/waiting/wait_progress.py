"""Reads the progress message that the triggerer writes to a deferred TaskRun: last look, next look, tries. Pure.

`triggerer/torpor_triggerer/running/progress.py` writes it.
"""

import math
import re
from dataclasses import dataclass
from typing import Self

from torpor_views import json_fields

_TAIL = re.compile(
    r"(?:, (?P<tries>\d{1,12}) tr(?:y|ies))?, (?:last|seen) at (?P<last>\S+Z)(?:, next at (?P<next>\S+Z))?$", re.ASCII
)
_HEAD = "Waiting "


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitProgress:
    """`look`: the result of the last look; `interval`: seconds between looks. None and 0: not known."""

    look: str = ""
    tries: int = 0
    last_at: float | None = None
    next_at: float | None = None

    @classmethod
    def parse(cls, message: str, waits_for: str = "") -> Self:
        """Return what the message says. `waits_for`: of the trigger, which precedes the look in the message."""
        tail = _TAIL.search(message)
        if tail is None or not message.startswith(_HEAD):
            return cls()
        look = message[len(_HEAD) : tail.start()]
        for subject in (f"for {waits_for}: ", f"{waits_for}: "):
            look = look.removeprefix(subject)
        return cls(
            look=json_fields.one_line(look, 200),
            tries=int(tail["tries"] or 0),
            last_at=json_fields.moment(tail["last"]),
            next_at=json_fields.moment(tail["next"]),
        )

    def next_after(self, now: float) -> float | None:
        """Return when the next look is. The message is minutes old, and looks follow each other at its interval."""
        if self.next_at is None or self.next_at > now or not self.interval:
            return self.next_at
        return self.next_at + math.ceil((now - self.next_at) / self.interval) * self.interval

    @property
    def interval(self) -> float | None:
        """Seconds from the last look to the next one, when the message was written."""
        return None if self.last_at is None or self.next_at is None else max(self.next_at - self.last_at, 0.0)
