"""Watches other Workflows or a TaskRun of the namespace until one ends."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from torpor_wire import canonical, constants, times

from torpor.triggers import cursors
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor, CursorPosition, CursorProgress
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments

SUCCEEDED = "succeeded"
_CONDITION = "Succeeded"
_LABELS_MAX = 8
_LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_ENDED = {"True": True, "False": False}


class RunFailedError(Exception):
    """The Workflow or TaskRun ended in another state than required."""


class _End(BaseTrigger):
    """Waits for an object with the condition Succeeded."""

    kind: str
    registered: str

    def __init__(self, name: str, *, state: Literal["succeeded"] | None = None, whole: bool = False) -> None:
        self.name = arguments.text(name, "name", most=253)
        self.state = _state(state)
        self.whole = arguments.flag(whole, "whole")

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the given arguments."""
        return self.registered, arguments.differing(self, _End.__init__)

    def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the object now and after each change. Raises RunFailedError if it did not succeed and had to."""
        return self._named()

    async def _named(self) -> AsyncIterator[TriggerEvent]:
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
        condition = _succeeded_condition(status)
        if condition.get("status") not in _ENDED:
            return None
        verdict = _reason_fields(condition)
        if self.state == SUCCEEDED and not _ENDED[condition["status"]]:
            raise RunFailedError(": ".join((f"{self.kind} {self.name} has {state.lower()}", *verdict.values())))
        event = {"name": self.name, "uid": version["metadata"].get("uid"), "state": state, **verdict}
        return event | self._result(status, event)

    def _result(self, status: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result, if there is one; one that does not fit, or is in the archive, is `truncated`."""
        text = status.get("result")
        if not isinstance(text, str):
            return {"truncated": True} if status.get("stored") else {}
        result = {"result": json.loads(text)}
        fits = self.whole or len(canonical.plain({**event, **result}).encode()) <= constants.EVENT_MAX
        return result if fits else {"truncated": True}


class WorkflowEnd(_End):
    """Fires when a Workflow has ended. The event is `{name, uid, state, reason, message, result}`.

    `result` is that of `spec.result`. One that does not fit, or is in the archive, is missing, and `truncated` is true.

    With `labels`, it fires for the first Workflow with these labels that has ended, and the event also has `completed`,
    the time of the end. With `cursor`, it fires for the first end after it, in the order of the times and uids.

        WorkflowEnd("load-2026-11-21", state="succeeded")

    Args:
        name: A Workflow of the same namespace. It may not exist yet. Give `name` or `labels`.
        state: `succeeded` fails the deferral if the Workflow ends in another state. With `labels` or `cursor`, other
            ends do not count.
        labels: Labels of Workflows of the same namespace.
        cursor: The position after the last event, or a time.
        whole: Whether the event has a result of up to 8 kB even if it exceeds the limit of an event.
    """

    kind = "Workflow"
    registered = "workflow"

    def __init__(
        self,
        name: str | None = None,
        *,
        state: Literal["succeeded"] | None = None,
        labels: Mapping[str, str] | None = None,
        cursor: Cursor = UNSET,
        whole: bool = False,
    ) -> None:
        if name is not None and labels is None:
            super().__init__(name, state=state, whole=whole)
        elif name is None and labels is not None:
            self.name, self.state, self.whole = "", _state(state), arguments.flag(whole, "whole")
        else:
            raise ValueError("give either name or labels")
        self.labels = None if labels is None else _labels(labels)
        self.cursor = cursors.cursor(cursor)
        self._after = cursors.progress(self.cursor)

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the given arguments."""
        given = arguments.differing(self, WorkflowEnd.__init__, name=self.name or None)
        return self.registered, given | cursors.stored(self.cursor)

    def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the Workflows now and after each change."""
        return self._named() if self.labels is None else self._selected(self.labels)

    async def _selected(self, labels: Mapping[str, str]) -> AsyncIterator[TriggerEvent]:
        from contextlib import aclosing  # noqa: PLC0415 - not needed in a task pod

        shown = ",".join(f"{name}={value}" for name, value in labels.items())
        before: Mapping[CursorPosition, Any] = {}
        async with aclosing(self.services.ends(labels, again=cursors.SETTLE)) as ends:
            async for ended in ends:
                new = {_place(run): run for run in ended.workflows if self._counts(run)}
                complete = self._complete(new, before if ended.is_later else {})
                self.last_look = f"{len(new)} Workflows with {shown} have ended"
                if new and (first := min(new)).at <= complete:
                    status = new[first]["status"]
                    event = _ended(new[first]) | {"completed": status["completionTime"]}
                    event |= self._result(status, event)
                    yield TriggerEvent(cursors.with_cursor(event, self.cursor, str(CursorProgress(first, complete))))
                    return
                before = new

    def _complete(self, new: Mapping[CursorPosition, Any], before: Mapping[CursorPosition, Any]) -> int:
        """Return the time up to which no earlier end can appear: that of what an earlier list had, too."""
        newest = max((place.at for place in new), default=self._after.complete) - round(cursors.SETTLE * 1e6)
        return max(newest, self._after.complete, *(place.at for place in new if place in before))

    def _counts(self, version: Mapping[str, Any]) -> bool:
        succeeded = _succeeded_condition(version["status"]).get("status") == "True"
        return (self.state is None or succeeded) and _place(version) > self._after.last

    def _event(self, version: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.cursor is UNSET:
            return super()._event(version)
        if (version.get("status") or {}).get("completionTime") is None or not self._counts(version):
            self.last_look = f"{self.kind} {self.name} has not ended since the last event"
            return None
        event = super()._event(version)
        after = str(CursorProgress(_place(version), self._after.complete))
        return None if event is None else cursors.with_cursor(event, self.cursor, after)


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


def _succeeded_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    condition: Mapping[str, Any]
    for condition in status.get("conditions") or ():
        if condition.get("type") == _CONDITION:
            return condition
    return {}


def _ended(version: Mapping[str, Any]) -> dict[str, Any]:
    metadata, status = version["metadata"], version["status"]
    return {
        "name": metadata["name"],
        "uid": metadata["uid"],
        "state": status["state"],
        **_reason_fields(_succeeded_condition(status)),
    }


def _reason_fields(condition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: condition[name] for name in ("reason", "message") if condition.get(name)}


def _place(version: Mapping[str, Any]) -> CursorPosition:
    return cursors.position(times.epoch(version["status"]["completionTime"]), str(version["metadata"].get("uid")))


def _labels(labels: object) -> dict[str, str]:
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be a mapping, not {type(labels).__name__}")
    if not 0 < len(labels) <= _LABELS_MAX:
        raise ValueError(f"there are {len(labels)} labels; 1 to {_LABELS_MAX} are allowed")
    for name, value in labels.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"labels: {name!r:.100} and its value must be text; quote numbers")
        if not _LABEL.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"labels: {name[:100]}={value[:100]} is not a valid label")
    return {str(name): str(labels[name]) for name in sorted(labels)}


def _state(state: object) -> str | None:
    if state is not None and state != SUCCEEDED:
        raise ValueError(f"state must be {SUCCEEDED}, or omitted for any end; not {state!r:.100}")
    return None if state is None else SUCCEEDED
