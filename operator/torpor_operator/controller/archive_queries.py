"""What queries of a plan ask of the archive: an installation without an archive has its own answers."""

import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias

from pydantic import ValidationError
from torpor_crds.models.archive import ArchiveEndpoint, StoredResult
from torpor_kubernetes.client.archive import ArchiveResponse

from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.model.step_parts import CombineSteps, StepPart, StepsCombined, StepsNotCombined

HasRun: TypeAlias = Callable[[str, str, str], Awaitable[bool]]
"""Whether the archive has a run, by namespace, uid and completion time. Raises NotArchivedError."""
SettledLogsOf: TypeAlias = Callable[[str, Collection[str]], frozenset[str]]
"""Which logs of pods, by namespace and uids, are known to be settled. Does not wait."""
Combine: TypeAlias = Callable[[CombineSteps], Awaitable[StepsCombined | StepsNotCombined]]
"""Lets the archive combine results of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveQueries:
    """The functions of one installation."""

    has_run: HasRun
    settled_logs: SettledLogsOf
    combine: Combine


async def _has_no_run(_namespace: str, _uid: str, _completed: str) -> bool:
    raise NotArchivedError("there is no archive")


async def _combine_nothing(query: CombineSteps) -> StepsNotCombined:
    return _refusal(query)


def _refusal(query: CombineSteps) -> StepsNotCombined:
    """Without an archive. One that has parts of the result may come back."""
    is_final = all(part.digest is None for part in query.parts)
    return StepsNotCombined(message="they are too large for a TaskRun, and there is no archive", is_final=is_final)


NO_ARCHIVE = ArchiveQueries(
    has_run=_has_no_run, settled_logs=lambda _namespace, _pods: frozenset(), combine=_combine_nothing
)
Post: TypeAlias = Callable[[ArchiveEndpoint, str, object], Awaitable[ArchiveResponse]]
"""Sends JSON to a path of the archive. Raises OSError."""
_FINAL = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
_MESSAGE_CHARACTERS = 300


class StepCombiner:
    """`endpoint` returns the address of the archive, None without one."""

    def __init__(self, endpoint: Callable[[], ArchiveEndpoint | None], post: Post) -> None:
        self._endpoint = endpoint
        self._post = post

    async def combine(self, query: CombineSteps) -> StepsCombined | StepsNotCombined:
        """Return the description of the combined result, or why there is none."""
        endpoint = self._endpoint()
        if endpoint is None:
            return _refusal(query)
        path = f"/v1/namespaces/{query.namespace}/taskruns/{query.taskrun}/steps"
        body = {"uid": query.uid, "steps": [_part(part) for part in query.parts]}
        try:
            response = await self._post(endpoint, path, body)
        except OSError as error:
            return StepsNotCombined(message=str(error))
        return _answer(response)


def _part(part: StepPart) -> dict[str, str]:
    return {"name": part.name} | ({"text": part.text or "null"} if part.digest is None else {"digest": part.digest})


def _answer(response: ArchiveResponse) -> StepsCombined | StepsNotCombined:
    body = _decoded(response.body)
    if response.status >= HTTPStatus.MULTIPLE_CHOICES:
        message = str(body.get("message") or f"the archive responded {response.status}")[:_MESSAGE_CHARACTERS]
        return StepsNotCombined(message=message, is_final=response.status in _FINAL)
    try:
        return StepsCombined(StoredResult.model_validate(body))
    except ValidationError:
        return StepsNotCombined(message="the archive responded without a description")


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
