"""Watches another Workflow or TaskRun of the namespace until it ends."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from torpor_wire import canonical, constants

from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments

SUCCEEDED = "succeeded"
_CONDITION = "Succeeded"
_ENDED = {"True": True, "False": False}


class RunFailedError(Exception):
    """The Workflow or TaskRun ended in another state than required."""


class _End(BaseTrigger):
    """Waits for an object with the condition Succeeded."""

    kind: str
    registered: str

    def __init__(self, name: str, *, state: Literal["succeeded"] | None = None) -> None:
        self.name = arguments.text(name, "name", most=253)
        self.state = _state(state)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the given arguments."""
        return self.registered, arguments.differing({"name": self.name, "state": self.state}, {})

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the object now and after each change. Raises RunFailedError if it did not succeed and had to."""
        from contextlib import aclosing  # noqa: PLC0415 - not needed in a task pod

        self.last_look = f"{self.kind} {self.name} does not exist"
        async with aclosing(self.services.versions(constants.API_VERSION, self.kind, self.name)) as versions:
            async for version in versions:
                event = self._event(version)
                if event is not None:
                    yield TriggerEvent(event)
                    return

    def _event(self, version: Mapping[str, Any]) -> dict[str, Any] | None:
        status = version.get("status") or {}
        state = str(status.get("state") or "not begun")
        self.last_look = f"{self.kind} {self.name} is {state}"
        stands = _stands(status)
        if stands.get("status") not in _ENDED:
            return None
        said = {name: stands[name] for name in ("reason", "message") if stands.get(name)}
        if self.state == SUCCEEDED and not _ENDED[stands["status"]]:
            raise RunFailedError(": ".join((f"{self.kind} {self.name} has {state.lower()}", *said.values())))
        event = {"name": self.name, "uid": version["metadata"].get("uid"), "state": state, **said}
        return event | self._result(status, event)

    def _result(self, status: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result, if it is known and fits."""
        text = status.get("result")
        if not isinstance(text, str):
            return {}
        result = {"result": json.loads(text)}
        fits = len(canonical.plain({**event, **result}).encode()) <= constants.EVENT_MAX
        return result if fits else {"truncated": True}


class WorkflowEnd(_End):
    """Fires when a Workflow has ended. The event is `{name, uid, state, reason, message}`.

        WorkflowEnd("load-2026-11-21", state="succeeded")

    Args:
        name: A Workflow of the same namespace. It may not exist yet.
        state: `succeeded` fails the deferral if the Workflow ends in another state.
    """

    kind = "Workflow"
    registered = "workflow"


class TaskRunEnd(_End):
    """Fires when a TaskRun has ended. The event is `{name, uid, state, reason, message, result}`.

    A result that does not fit is missing, and `truncated` is true. The arguments are those of `WorkflowEnd`.
    """

    kind = "TaskRun"
    registered = "taskrun"

    def bind(self, services: Services) -> None:
        """Reject a TaskRun that waits for itself. Raises ValueError."""
        super().bind(services)
        if services.taskrun.name == self.name:
            raise ValueError(f"TaskRun {self.name!r} cannot wait for its own end")


def _stands(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any]
    for found in status.get("conditions") or ():
        if found.get("type") == _CONDITION:
            return found
    return {}


def _state(state: object) -> str | None:
    if state is not None and state != SUCCEEDED:
        raise ValueError(f"state must be {SUCCEEDED}, or omitted for any end; not {state!r:.100}")
    return None if state is None else SUCCEEDED
