"""The arguments of the call: JSON text on the TaskRun, or the results of another task, read where they stand.

A large result is not copied into every TaskRun that uses it. The TaskRuns of another task are found by their derived
names, as a task pod may read but not list; one of another Workflow's is refused.
"""

import json
from typing import Any

from torpor_wire import keys, names
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor.errors import RejectedError
from torpor.runtime import launch, settle
from torpor.runtime.api import Exchange
from torpor.runtime.taskrun import Source, TaskRun

LIMIT_S = 60.0


class UnreadableError(Exception):
    """A result that cannot be read at the moment; another attempt may."""


class Reader:
    """Reads arguments for one TaskRun."""

    def __init__(self, exchange: Exchange, namespace: str, run: TaskRun, patience: settle.Patience) -> None:
        self._exchange = exchange
        self._namespace = namespace
        self._run = run
        self._patience = patience

    def resolve(self) -> dict[str, Any]:
        """The keyword arguments. Raises RejectedError where a result does not exist, UnreadableError for trouble."""
        return {
            argument.name: json.loads(argument.value or "null")
            if argument.source is None
            else self._referred(argument.source)
            for argument in self._run.arguments
        }

    def _referred(self, source: Source) -> Any:
        if source.field == "results":
            found = [self._result(source.task, index) for index in range(source.instances)]
            return [json.loads(text) for text in found if text is not None]
        text = self._result(source.task, keys.UNMAPPED)
        if text is None:
            raise RejectedError(Reason.ARGUMENTS_INVALID, f"task {source.task!r} has no result to pass on")
        return json.loads(text)

    def _result(self, task: str, index: int) -> str | None:
        """The result's JSON text; None where the instance is gone or did not succeed."""
        name = names.taskrun(self._run.workflow, self._run.workflow_uid, task, index)
        match settle.read(self._exchange, launch.path(self._namespace, name), self._patience):
            case settle.Stored(body):
                return self._succeeded(name, body)
            case settle.Refused(status=settle.NOT_FOUND):
                return None
            case settle.Refused(message) | settle.Unsettled(message):
                raise UnreadableError(f"the result of {name} cannot be read: {message}")
            case settle.Lost():
                raise UnreadableError(f"the result of {name} cannot be read: HTTP 422")

    def _succeeded(self, name: str, body: Any) -> str | None:
        if body["spec"]["workflow"]["uid"] != self._run.workflow_uid:
            raise RejectedError(Reason.ARGUMENTS_INVALID, f"TaskRun {name} belongs to another Workflow")
        status = body.get("status") or {}
        succeeded = status.get("state") == State.SUCCEEDED
        return status.get("result") if succeeded else None
