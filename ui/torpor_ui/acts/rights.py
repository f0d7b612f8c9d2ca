"""What a caller may do in a namespace, as the API server says: for buttons, never as a check.

The check is that of the API server when the act is done with the caller's credentials.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.resources import SELF_ACCESS_REVIEWS
from torpor_wire import constants

from torpor_ui.cluster.caller import Caller

KEPT_SECONDS = 30.0
_CALLERS_MAX = 1000
_EDIT = "ask for ClusterRole edit"


class Right(Enum):
    """A verb on a resource of Torpor, and which role has it."""

    CHANGE_RUNS = ("patch", "workflows", _EDIT)
    CREATE_RUNS = ("create", "workflows", _EDIT)
    DELETE_RUNS = ("delete", "workflows", _EDIT)
    ANSWER = ("patch", "taskruns", "ask for ClusterRole torpor-approve")
    CHANGE_SCHEDULES = ("patch", "schedules", _EDIT)
    CREATE_BACKFILLS = ("create", "backfills", _EDIT)

    @property
    def verb(self) -> str:
        """The verb."""
        return self.value[0]

    @property
    def resource(self) -> str:
        """The resource."""
        return self.value[1]

    @property
    def advice(self) -> str:
        """What a caller without the right can do."""
        return self.value[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a caller has a right. `reason`: why not."""

    allowed: bool
    reason: str = ""


READ_ONLY = Permission(allowed=False, reason="this page is read-only; use the command torpor")


class Rights:
    """The permissions of callers, asked of the API server and kept for a short time."""

    def __init__(self, *, read_only: bool = False, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._read_only = read_only
        self._monotonic = monotonic
        self._known: dict[tuple[str, str, Right], tuple[float, Permission]] = {}

    async def permission(self, caller: Caller, namespace: str, right: Right) -> Permission:
        """Return whether the caller has a right in a namespace. Raises ApiError."""
        if self._read_only:
            return READ_ONLY
        key, now = (caller.key, namespace, right), self._monotonic()
        until, known = self._known.get(key, (0.0, READ_ONLY))
        if now < until:
            return known
        permission = await _review(caller, namespace, right)
        if len(self._known) >= _CALLERS_MAX * len(Right):
            self._known = {each: entry for each, entry in self._known.items() if entry[0] > now}
        self._known[key] = (now + KEPT_SECONDS, permission)
        return permission

    async def permissions(self, caller: Caller, namespace: str) -> dict[Right, Permission]:
        """Return all permissions of a caller in a namespace. Raises ApiError."""
        found = await asyncio.gather(*(self.permission(caller, namespace, right) for right in Right))
        return dict(zip(Right, found, strict=True))


async def _review(caller: Caller, namespace: str, right: Right) -> Permission:
    attributes = {
        "namespace": namespace,
        "verb": right.verb,
        "group": constants.GROUP,
        "resource": right.resource,
    }
    body: dict[str, Any] = {
        "apiVersion": SELF_ACCESS_REVIEWS.api_version,
        "kind": SELF_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = await caller.api.create(SELF_ACCESS_REVIEWS, None, body)
    except api_errors.Forbidden:
        return _denied(namespace, right)
    allowed = bool((answer.get("status") or {}).get("allowed"))
    return Permission(allowed=True) if allowed else _denied(namespace, right)


def _denied(namespace: str, right: Right) -> Permission:
    reason = f"you may not {right.verb} {right.resource} in namespace {namespace}; {right.advice}"
    return Permission(allowed=False, reason=reason)
