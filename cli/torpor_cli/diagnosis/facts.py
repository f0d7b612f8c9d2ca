"""What the checks read, and what each of them finds. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias


class Status(StrEnum):
    """How a check ended. UNKNOWN: the user may not read what it needs."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One sentence about one thing, and what to do."""

    check: str
    status: Status
    message: str
    action: str = ""


def passed(check: str, message: str) -> CheckResult:
    """Return a result without a problem."""
    return CheckResult(check=check, status=Status.OK, message=message)


def warning(check: str, message: str, action: str) -> CheckResult:
    """Return a problem with which runs go on."""
    return CheckResult(check=check, status=Status.WARNING, message=message, action=action)


def failed(check: str, message: str, action: str) -> CheckResult:
    """Return a problem with which some runs do not go on."""
    return CheckResult(check=check, status=Status.FAILED, message=message, action=action)


def listed(names: list[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


Object: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFact:
    """The user may not read it, or the server did not answer. `right` is what the user needs, such as `get leases`."""

    right: str
    why: str = ""


Item: TypeAlias = "Object | UnreadableFact | None"
"""An object; None if it does not exist."""
Items: TypeAlias = "Sequence[Object] | UnreadableFact"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisFacts:
    """Everything that the checks need. Times are seconds since the epoch."""

    command: str
    """Version of this command."""
    local_time: float
    server_time: float
    kubernetes: str
    namespace: str
    chosen: bool
    """Whether the user has named the namespace."""
    schemas: Mapping[str, Object] | UnreadableFact
    """The published schema of each kind, by kind; without a kind that is not served."""
    policies: Items
    bindings: Items
    view: Item
    edit: Item
    rights: Mapping[str, bool]
    """The user's own rights in the namespace: `list workflows` and others."""
    deployments: Items
    leases: Items
    node_leases: Items
    nodes: Items
    network_policies: Items
    """Those of torpor-system."""
    daemon_sets: Items
    """Those of all namespaces: a network plugin is one of them."""
    archive: str | UnreadableFact | None
    """Why the archive cannot be read; None if it was read."""
    namespace_object: Item
    role_bindings: Items
    task_account: Item
    workflows: Items
    """The Workflows of the namespace."""
    deleted: Items
    """Metadata of Workflows, TaskRuns and pods of tasks that are being deleted, with their kind."""
    everywhere: bool
    """Whether `deleted` covers all namespaces."""
    system: str = "torpor-system"
    """The namespace of the installation that the user asks about."""
    installation: Item = None
    """The Lease of the confined installation that serves the namespace."""


def unknown(check: str, read: UnreadableFact) -> CheckResult:
    """Return the result of a check that cannot read what it needs."""
    message = read.why or f"you may not {read.right}"
    action = "" if read.why else f"run this command as a user who may {read.right}"
    return CheckResult(check=check, status=Status.UNKNOWN, message=message, action=action)
