"""The users and groups that may answer an approval.

They are in the kwargs of the `approval` trigger, as text that no policy can read, and also in
`status.trigger.approvers`, where the policy `torpor-approval` checks the user who answers. Pure.
"""

from collections.abc import Mapping
from typing import NamedTuple

NAMES_MAX = 32
NAME_MAX = 253
_FIELDS = ("users", "groups")


class Approvers(NamedTuple):
    """One of these users, or a member of one of these groups."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def on_status(self) -> dict[str, list[str]]:
        """Return the value of `status.trigger.approvers` and of the kwarg."""
        given = {"users": list(self.users), "groups": list(self.groups)}
        return {field: names for field, names in given.items() if names}

    def shown(self) -> str:
        """Return text such as `ann, bob or members of sre`."""
        groups = f"members of {', '.join(self.groups)}" if self.groups else ""
        return " or ".join(words for words in (", ".join(self.users), groups) if words)


def parse_approvers(value: object) -> Approvers:
    """Return the approvers of `{users: [...], groups: [...]}`. Raises ValueError."""
    if not isinstance(value, Mapping) or not value or not set(value) <= set(_FIELDS):
        raise ValueError("approvers must be {users: [...], groups: [...]}, or one of them")
    users, groups = (_names(field, value.get(field, ())) for field in _FIELDS)
    if not users and not groups:
        raise ValueError(
            "approvers is empty, so no user could answer; omit it to allow every user who may patch the TaskRun"
        )
    return Approvers(users, groups)


def _names(field: str, names: object) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or len(names) > NAMES_MAX:
        raise ValueError(f"approvers: {field} must be a list of up to {NAMES_MAX} names")
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= NAME_MAX:
            raise ValueError(f"approvers: {field} contains {name!r:.100}; a name has 1 to {NAME_MAX} characters")
    return tuple(names)
