"""Finding out what a plan says it needs: an expression's value, or whether an object the store lacks is really gone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import TypeAlias, assert_never

from torpor_api.client import errors
from torpor_api.client.api import Api, Object
from torpor_api.client.resources import CONFIG_MAPS, EVENTS, PODS, TASKRUNS, WORKFLOWS
from torpor_api.models.taskrun import parse
from torpor_api.models.workflow import Workflow
from torpor_cel.errors import ExpressionError, Reason
from torpor_cel.evaluator import Evaluating, Unavailable
from torpor_cel.value import Value
from torpor_wire import constants

from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.controller.cache import Observer
from torpor_operator.model import pod
from torpor_operator.model.actions import (
    ArchiveRun,
    ConfirmPod,
    ConfirmPods,
    ConfirmTaskRun,
    Evaluate,
    Need,
    ReadPodWarning,
    ReadVariables,
)
from torpor_operator.model.snapshot import Answer, NotArchived, PodWarning, Presence
from torpor_operator.taskrun.builder import is_named_for_its_spec

_LOG = logging.getLogger(__name__)
_AT_ONCE = 32
_EVENTS = 50
"""Events of a pod that are read in one page; the kubelet counts repetitions on one Event."""

Keep: TypeAlias = Callable[[str, str, str], Awaitable[None]]
"""Puts a finished Workflow, by namespace, name and uid, into the archive. Raises NotArchivedError."""


async def nowhere(_namespace: str, _name: str, _uid: str) -> None:
    """Where there is no archive."""
    raise NotArchivedError("there is no archive")


class QueryResolver:
    """Answers needs side by side; raises errors.Unavailable where nobody can say at the moment."""

    def __init__(self, api: Api, observer: Observer, evaluator: Evaluating, keep: Keep = nowhere) -> None:
        self._api = api
        self._observer = observer
        self._evaluator = evaluator
        self._keep = keep

    async def answer(self, needs: Iterable[Need], *, share: str = "") -> dict[Need, Answer]:
        """The answer to each need, some of them side by side. `share` is who pays for evaluations: a namespace."""
        asked, room = list(needs), asyncio.Semaphore(_AT_ONCE)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._in_turn(need, room, share)) for need in asked]
        except ExceptionGroup as several:
            raise several.exceptions[0] from several
        return {need: task.result() for need, task in zip(asked, tasks, strict=True)}

    async def vanished(self, held: Iterable[Workflow]) -> list[Workflow]:
        """Which of these Workflows the API server no longer has: what goes while kopf lists anew, it never reports."""
        listed: set[str] = set()
        version = "0"
        async with aclosing(self._api.pages(WORKFLOWS)) as pages:
            async for page in pages:
                listed.update(body["metadata"]["uid"] for body in page.items)
                version = page.resource_version
        return [
            workflow
            for workflow in held
            if workflow.metadata.uid not in listed and int(workflow.metadata.resource_version or 0) <= int(version)
        ]

    async def _in_turn(self, need: Need, room: asyncio.Semaphore, share: str) -> Answer:
        async with room:
            return await self._one(need, share)

    async def _one(self, need: Need, share: str) -> Answer:
        match need:
            case Evaluate():
                return await self._value(need, share)
            case ReadVariables():
                return await self._variables(need)
            case ArchiveRun():
                return await self._archived(need)
            case ConfirmTaskRun():
                return await self._taskrun(need)
            case ConfirmPod():
                return await self._pod(need)
            case ConfirmPods():
                return await self._pods(need)
            case ReadPodWarning():
                return await self._warning(need)
            case _:
                assert_never(need)

    async def _value(self, need: Evaluate, share: str) -> Answer:
        try:
            return await self._evaluator.evaluate(need.expression, need.variables, share=share)
        except Unavailable as error:
            raise errors.Unavailable(str(error)) from error

    async def _variables(self, need: ReadVariables) -> Answer:
        try:
            found = await self._api.get(CONFIG_MAPS, need.namespace, need.name)
        except errors.NotFound:
            return ExpressionError(
                reason=Reason.FAILED, message=f"there is no ConfigMap {need.name} for spec.variablesFrom to read"
            )
        return Value(json=dict(found.get("data") or {}))

    async def _archived(self, need: ArchiveRun) -> Answer:
        try:
            await self._keep(need.namespace, need.name, need.uid)
        except errors.NotFound:
            return Presence.GONE
        except NotArchivedError as error:
            return NotArchived(str(error))
        return Presence.PRESENT

    async def _taskrun(self, need: ConfirmTaskRun) -> Presence:
        try:
            found = await self._api.get(TASKRUNS, need.namespace, need.name)
        except errors.NotFound:
            return Presence.GONE
        if not _readable(found):
            return Presence.UNREADABLE
        if not is_named_for_its_spec(parse(found)):
            return Presence.GONE
        self._observer.taskruns.store.absorb(found)
        return Presence.PRESENT

    async def _pod(self, need: ConfirmPod) -> Presence:
        try:
            found = await self._api.get(PODS, need.namespace, need.name)
        except errors.NotFound:
            return Presence.GONE
        if found["metadata"]["uid"] != need.uid:
            return Presence.GONE
        if _is_seen(found):
            self._observer.pods.store.absorb(found)
        elif pod.parse(found).terminal:
            return Presence.GONE
        return Presence.PRESENT

    async def _pods(self, need: ConfirmPods) -> Presence:
        selector = f"{constants.LABEL_TASKRUN_UID}={need.taskrun_uid}"
        page = await self._api.list(PODS, need.namespace, label_selector=selector)
        for found in page.items:
            self._observer.pods.store.absorb(found)
        self._observer.unclear.pop(need.taskrun_uid, None)
        return Presence.PRESENT if page.items else Presence.GONE

    async def _warning(self, need: ReadPodWarning) -> PodWarning:
        """Not being told is no reason to stop the plan: an older role may not read Events."""
        try:
            async for page in self._api.pages(
                EVENTS, need.namespace, field_selector=f"regarding.uid={need.uid},type=Warning", limit=_EVENTS
            ):
                return _latest(page.items)
        except errors.ApiError as error:
            _LOG.warning("the Events of a pod in %s cannot be read: %s", need.namespace, error.message)
        return PodWarning()


def _latest(events: Iterable[Object]) -> PodWarning:
    last = max(events, key=_moment, default=None)
    return PodWarning() if last is None else PodWarning(str(last.get("reason") or ""), str(last.get("note") or ""))


def _moment(event: Object) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    return str(series or event.get("deprecatedLastTimestamp") or event.get("eventTime") or "")


def _is_seen(found: Object) -> bool:
    """Whether the pod's end will come by the store: not where its label or its owner were taken off by hand."""
    return constants.LABEL_TASKRUN_UID in found["metadata"].get("labels", {}) and pod.parse(found).owner_uid != ""


def _readable(found: Object) -> bool:
    try:
        parse(found)
    except ValueError:
        return False
    return True
