"""What a version of an object means for its task: it goes on waiting, has failed, or is done."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from torpor.triggers.services import NotYetError
from torpor_wire import canonical
from torpor_wire.canonical import Json
from torpor_wire.objects import object_manifest
from torpor_wire.reason import Reason

from torpor_triggerer.model.object_error import ObjectTaskError
from torpor_triggerer.objects.call import TaskObject

OBJECT_MAX = 256 * 1024
"""Bytes of JSON that expressions read. Objects of Kubernetes have up to 1.5 MB."""
_STATUS_SHOWN = 300

Evaluate: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether the task is done, and what to say meanwhile."""

    is_done: bool
    last_look: str


class Judge:
    """Evaluates the expressions of one task."""

    def __init__(self, subject: TaskObject, evaluate: Evaluate) -> None:
        self._subject = subject
        self._evaluate = evaluate

    async def judge(self, stored: Mapping[str, Any]) -> Judgement:
        """Return what a version means. Raises ObjectTaskError if the task has failed."""
        call, words, seen = self._subject.call, self._subject.words, self._shown(stored)
        if call.fail_when is not None and await self._holds("failWhen", call.fail_when, seen) is True:
            status = canonical.plain(seen.get("status"))[:_STATUS_SHOWN]
            raise ObjectTaskError(
                Reason.FAIL_WHEN, f"{words}: failWhen is true: {call.fail_when}; the status: {status}"
            )
        if call.until is None:
            return Judgement(is_done=True, last_look=words)
        holds = await self._holds("until", call.until, seen)
        found = holds if isinstance(holds, str) else f"until is {str(holds).lower()}"
        return Judgement(is_done=holds is True, last_look=f"{words}: {found}")

    async def result(self, stored: Mapping[str, Any]) -> Json:
        """Return the result of the task. Raises ObjectTaskError if its expression has no value."""
        seen = self._shown(stored)
        if self._subject.call.result is None:
            return object_manifest.identity(seen)
        try:
            return await self._evaluate(self._subject.call.result, {"object": seen})
        except (NotYetError, ValueError) as error:
            raise ObjectTaskError(Reason.EXPRESSION_FAILED, f"result: {error}") from error

    async def _holds(self, field: str, expression: str, seen: dict[str, Any]) -> bool | str:
        """Return whether an expression is true, or why it has no value yet."""
        try:
            value = await self._evaluate(expression, {"object": seen})
        except NotYetError as error:
            return f"{field} has no value yet: {error}"
        except ValueError as error:
            raise ObjectTaskError(Reason.EXPRESSION_FAILED, f"{field}: {error}") from error
        if not isinstance(value, bool):
            message = f"{field} yields a value of type {type(value).__name__}, not true or false: {expression}"
            raise ObjectTaskError(Reason.EXPRESSION_FAILED, message)
        return value

    def _shown(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        call = self._subject.call
        seen = object_manifest.shown(stored, call.api_version, call.kind)
        if (size := len(json.dumps(seen))) > OBJECT_MAX:
            raise ObjectTaskError(
                Reason.ANSWER_TOO_LARGE,
                f"{self._subject.words} has {size:,} bytes; expressions read objects of up to {OBJECT_MAX:,}",
            )
        return seen
