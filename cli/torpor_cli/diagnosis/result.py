"""The result of a check. Pure."""

from dataclasses import dataclass
from enum import StrEnum


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
