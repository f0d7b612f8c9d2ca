"""Waiting for the end of another Workflow or TaskRun of the namespace; watched, not polled."""

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
    """What was to succeed has ended otherwise."""


class _End(BaseTrigger):
    """The end of an object that has the condition Succeeded."""

    kind: str
    registered: str

    def __init__(self, name: str, *, state: Literal["succeeded"] | None = None) -> None:
        self.name = arguments.text(name, "name", most=253)
        self.state = _state(state)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """What was given."""
        return self.registered, arguments.differing({"name": self.name, "state": self.state}, {})

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look at it as it is, then at each change. Raises RunFailedError where it was to succeed and did not."""
        from contextlib import aclosing  # noqa: PLC0415 - a task pod has no use for it

        self.last_look = f"there is no {self.kind} {self.name}"
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
        """What it has returned, where that is known and fits."""
        text = status.get("result")
        if not isinstance(text, str):
            return {}
        result = {"result": json.loads(text)}
        fits = len(canonical.plain({**event, **result}).encode()) <= constants.EVENT_MAX
        return result if fits else {"truncated": True}


class WorkflowEnd(_End):
    """Fires when the Workflow of this name has ended; with `state="succeeded"` it fails where that ended otherwise.

    The event has name, uid, state, and reason and message of its condition.
    """

    kind = "Workflow"
    registered = "workflow"


class TaskRunEnd(_End):
    """Fires when the TaskRun of this name has ended; with `state="succeeded"` it fails where that ended otherwise.

    The event has name, uid, state, reason and message of its condition, and its result; one that does not fit is left
    out, and `truncated` says so.
    """

    kind = "TaskRun"
    registered = "taskrun"

    def bind(self, services: Services) -> None:
        """Also refuses to wait for the TaskRun that waits."""
        super().bind(services)
        if services.taskrun.name == self.name:
            raise ValueError(f"TaskRun {self.name!r} would wait for its own end")


def _stands(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any]
    for found in status.get("conditions") or ():
        if found.get("type") == _CONDITION:
            return found
    return {}


def _state(state: object) -> str | None:
    if state is not None and state != SUCCEEDED:
        raise ValueError(f"state is {SUCCEEDED}, or left out to wait for any end; not {state!r:.100}")
    return None if state is None else SUCCEEDED
