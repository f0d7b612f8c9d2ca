"""Resolves the arguments of a task: JSON text on the TaskRun, or results of other tasks.

A large result is not copied into each TaskRun that uses it. TaskRuns of other tasks are found by their derived names,
because a task pod may get but not list them. A TaskRun of another Workflow is rejected. Results in the archive are read
by modules that only their readers import.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torpor_wire import constants, names
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor.errors import RejectedError, UnreadableError
from torpor.runtime import environment, status_patch
from torpor.runtime.http import WorkerTransport
from torpor.runtime.taskrun import ArchivedEvent, ArgumentLocation, WorkerTaskRun

if TYPE_CHECKING:
    from torpor.results import Load, Position, Results
    from torpor.runtime.archive.client import ArchiveConnection

LIMIT_S = 60.0
_SEEN_MAX, _ENTRY = 2_000_000, 500
"""Approximate bytes: of the results that stay in memory, and of an empty one."""


class FoundResult(NamedTuple):
    """The result of a TaskRun: JSON text, or the description of a body in the archive."""

    uid: str
    text: str | None
    stored: Mapping[str, Any] | None


class _ResultCache:
    """A cache of small results, up to `_SEEN_MAX`, so that a second iteration needs no requests."""

    def __init__(self) -> None:
        self._by_position: dict[Position, FoundResult] = {}
        self._room = _SEEN_MAX

    def get(self, position: "Position") -> FoundResult | None:
        return self._by_position.get(position)

    def note(self, position: "Position", result: FoundResult | None) -> None:
        if result is None or position in self._by_position:
            return
        about = result.stored or {}
        size = _ENTRY + len(result.text or "") + len(about.get("keys") or "")
        if size <= self._room:
            self._by_position[position] = result
            self._room -= size


class ArgumentReader:
    """Reads the arguments of one TaskRun."""

    def __init__(
        self,
        transport: WorkerTransport,
        namespace: str,
        run: WorkerTaskRun,
        retry_policy: status_patch.RetryPolicy,
        archive: "Callable[[], ArchiveConnection | None]",
    ) -> None:
        self._transport = transport
        self._namespace = namespace
        self._run = run
        self._retry_policy = retry_policy
        self._open = archive
        self._archive: ArchiveConnection | None = None

    def resolve(self) -> dict[str, Any]:
        """Return the keyword arguments.

        Raises RejectedError if a result does not exist, UnreadableError if it is unavailable.
        """
        return {
            argument.name: json.loads(argument.value or "null")
            if argument.source is None
            else self._referred(argument.source)
            for argument in self._run.arguments
        }

    def event(self, event: Any) -> Any:
        """Return the event, from the archive if it is there. Raises UnreadableError."""
        if not isinstance(event, ArchivedEvent):
            return event
        from torpor_wire import typed_json  # noqa: PLC0415 - only for tasks that resume

        from torpor.runtime.archive import download  # noqa: PLC0415 - only for large values

        stored = download.ArchivedBody(event.owner, event.about)
        content = download.value(self._reached(), stored, download.body_retry_policy(self._retry_policy))
        return typed_json.decode(json.loads(content))

    def close(self) -> None:
        """Close the connection to the archive. A later read opens a new one."""
        if self._archive is not None:
            self._archive.close()

    def _referred(self, source: ArgumentLocation) -> Any:
        if source.field == "results":
            results = self._results(source)
            return results if source.item is None else _nth(results, source.item, f"task {source.task!r} has")
        index = constants.UNMAPPED if source.position is None else source.position
        result = self._result(source.task, index, source.group_indexes)
        if result is None:
            message = f"task {source.task!r} has no result{_where(index, source.group_indexes)}"
            raise RejectedError(Reason.ARGUMENTS_INVALID, message)
        return self._value(result) if source.item is None else self._item(source.task, result, source.item)

    def _results(self, source: ArgumentLocation) -> "Results":
        from torpor.results import Results  # noqa: PLC0415 - only for a reduction
        from torpor.runtime import instance_results  # noqa: PLC0415

        seen = _ResultCache()

        def find(position: "Position") -> "Load | None":
            result = seen.get(position) or self._result(source.task, *instance_results.split_indexes(source, position))
            seen.note(position, result)
            return None if result is None or result.text == "null" else lambda: self._value(result)

        return Results(find, *instance_results.parse_instances(source))

    def _value(self, result: FoundResult) -> Any:
        if result.stored is None:
            return json.loads(result.text or "null")
        from torpor.runtime.archive import download  # noqa: PLC0415 - only for large values

        stored = download.ArchivedBody(result.uid, result.stored)
        return download.value(self._reached(), stored, download.body_retry_policy(self._retry_policy))

    def _item(self, task: str, result: FoundResult, place: int) -> Any:
        about = result.stored
        if about is None:
            return _nth(_items(task, json.loads(result.text or "null")), place, f"the result of task {task!r} has")
        if about["type"] not in {"list", "object"}:
            raise _no_items(task, about["type"])
        from torpor.runtime.archive import download  # noqa: PLC0415 - only for large values

        stored = download.ArchivedBody(result.uid, about)
        try:
            return download.item(self._reached(), stored, place, download.body_retry_policy(self._retry_policy))
        except download.OutsideError:
            message = f"the result of task {task!r} has {about.get('length')} items, so there is no item {place}"
            raise RejectedError(Reason.ARGUMENTS_INVALID, message) from None

    def _reached(self) -> "ArchiveConnection":
        self._archive = self._archive or self._open()
        if self._archive is None:
            raise UnreadableError("the result is in the archive, but this pod has no address of an archive")
        return self._archive

    def _result(self, task: str, index: int, groups: tuple[int, ...]) -> FoundResult | None:
        """Return the result of an instance; None if it is gone or did not succeed."""
        name = names.taskrun(self._run.workflow, self._run.workflow_uid, task, index, groups)
        match status_patch.read(self._transport, environment.path(self._namespace, name), self._retry_policy):
            case status_patch.WriteStored(body):
                return self._succeeded(name, body)
            case status_patch.WriteRefused(status=status_patch.NOT_FOUND):
                return None
            case problem:
                raise UnreadableError(f"the result of {name} cannot be read: {problem.message}")

    def _succeeded(self, name: str, body: Any) -> FoundResult | None:
        if body["spec"]["workflow"]["uid"] != self._run.workflow_uid:
            raise RejectedError(Reason.ARGUMENTS_INVALID, f"TaskRun {name} belongs to another Workflow")
        status = body.get("status") or {}
        text, stored = status.get("result"), status.get("stored")
        if status.get("state") != State.SUCCEEDED or (text is None and stored is None):
            return None
        return FoundResult(body["metadata"]["uid"], text, stored)


def _where(index: int, groups: tuple[int, ...]) -> str:
    """Return the index of an instance for messages; empty if there is only one."""
    numbers = [str(number) for number in (*groups, index) if number != constants.UNMAPPED]
    return f" at position {'.'.join(numbers)}" if numbers else ""


def _items(task: str, value: Any) -> list[Any]:
    match value:
        case list():
            return value
        case dict():
            return [[*entry] for entry in value.items()]
        case _:
            raise _no_items(task, type(value).__name__)


def _no_items(task: str, kind: str) -> RejectedError:
    return RejectedError(
        Reason.ARGUMENTS_INVALID, f"task {task!r} returned a value of type {kind}, not a list or an object"
    )


def _nth(items: Any, place: int, subject: str) -> Any:
    try:
        return items[place]
    except IndexError:
        raise RejectedError(
            Reason.ARGUMENTS_INVALID, f"{subject} {len(items)} items, so there is no item {place}"
        ) from None
