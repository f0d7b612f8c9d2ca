"""Names the activity of a stack of functions: the first rule that one of its functions matches.

The order of the rules decides, not the depth of the functions, since handlers call each other: the function of a filter
is in the stack of all that the filter passes on. What encloses much therefore comes last.
"""

from collections.abc import Sequence
from typing import NamedTuple

OTHER = "not attributed"


class ActivityRule(NamedTuple):
    """An activity, and parts of the names of its functions."""

    activity: str
    parts: tuple[str, ...]


def activity(stack: Sequence[str], rules: Sequence[ActivityRule]) -> str:
    """The activity of a stack; `OTHER` if no rule matches."""
    for rule in rules:
        if any(part in name for name in stack for part in rule.parts):
            return rule.activity
    return OTHER
