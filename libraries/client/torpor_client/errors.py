"""Errors that a user can correct. Each message is one line that says what to do. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """The base of all errors whose message is for a user."""


class UsageError(UserError):
    """The arguments are invalid, independent of what the cluster contains."""


class UnknownNameError(UserError):
    """The cluster or the run has nothing of this name."""


def unknown(what: str, name: str, known: Iterable[str], hint: str = "", *, where: str = "") -> UnknownNameError:
    """Build the error for a name that does not exist, with the nearest that does: `unknown("task", "lod", tasks)`."""
    nearest = nearest_name(name, known)
    advice = f"; did you mean {nearest}?" if nearest else f"; {hint}" if hint else ""
    return UnknownNameError(f"there is no {what} {name!r}{where and f' {where}'}{advice}")


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar, None if none is. A generated ending (`-x7f2k`) may be missing."""
    names = {candidate.lower(): candidate for candidate in known}
    stems = {candidate.rpartition("-")[0]: whole for candidate, whole in names.items() if "-" in candidate}
    if close := get_close_matches(name.lower(), names, n=1, cutoff=0.6):
        return names[close[0]]
    close = get_close_matches(name.lower(), stems, n=1, cutoff=0.7)
    return stems[close[0]] if close else None
