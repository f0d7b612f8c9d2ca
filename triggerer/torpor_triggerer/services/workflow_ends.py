"""Lists the Workflows with some labels that have ended, again after each end.

The watch is that of `object_watch`, shared with all waits for Workflows of the namespace. It keeps no objects: the end
of a Workflow with these labels is the reason for another list, which the API server selects by label.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from torpor.triggers.services import EndedWorkflows
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from torpor_triggerer.services.client_pool import ClientPool
from torpor_triggerer.services.object_watch import WatchedObject, patiently, watch_of

_FIELDS = ("state", "completionTime", "conditions")


class WorkflowSelection(NamedTuple):
    """The Workflows of a namespace with these labels."""

    namespace: str
    labels: Mapping[str, str]

    def __contains__(self, workflow: object) -> bool:
        match workflow:
            case {"metadata": {"labels": dict() as labels}}:
                return self.labels.items() <= labels.items()
            case _:
                return False


class _Signal:
    """Is set when a Workflow of the selection has ended that is not in `known`, or when an end may have been missed."""

    def __init__(self, selection: WorkflowSelection) -> None:
        self.known: frozenset[tuple[str, str]] = frozenset()
        self._selection = selection
        self._set = asyncio.Event()
        self._broken: BaseException | None = None

    def changed(self, version: Mapping[str, Any]) -> None:
        if _has_ended(version) and version in self._selection and _end_of(version) not in self.known:
            self._set.set()

    def interrupted(self) -> None:
        self._set.set()

    def fail(self, error: BaseException) -> None:
        self._broken = error
        self._set.set()

    async def clear(self) -> None:
        """Begin to wait for the next signal. Raises the error that ended the watch."""
        if self._broken is not None:
            raise self._broken
        self._set.clear()

    async def wait(self) -> None:
        await self._set.wait()


async def ends(
    api: Api, clients: ClientPool, selection: WorkflowSelection, *, again: float
) -> AsyncGenerator[EndedWorkflows, None]:
    """Yield the ended Workflows now and after each further end, then until two lists `again` seconds apart are equal.

    Raises PermissionError if they may not be read.
    """
    subject = WatchedObject(constants.API_VERSION, WORKFLOWS.kind, selection.namespace, ",".join(selection.labels))
    signal = _Signal(selection)
    async with watch_of(api, clients, WORKFLOWS, selection.namespace) as watch:
        with watch.listening(signal):
            await watch.begun()
            is_later = False
            while True:
                await patiently(api, subject, signal.clear)
                before = signal.known
                ended = await patiently(api, subject, lambda: _list(api, selection))
                signal.known = frozenset(map(_end_of, ended))
                yield EndedWorkflows(ended, is_later)
                if not ended or (is_later and signal.known == before):
                    await signal.wait()
                    is_later = False
                else:
                    is_later = not await _waited(api, signal, again)


async def _waited(api: Api, signal: _Signal, seconds: float) -> bool:
    """Wait for a signal for so long. Returns whether it came."""
    waits = [asyncio.ensure_future(signal.wait()), asyncio.ensure_future(api.clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return waits[0].done()
    finally:
        for wait in waits:
            wait.cancel()


async def _list(api: Api, selection: WorkflowSelection) -> list[Mapping[str, Any]]:
    selector = ",".join(f"{name}={value}" for name, value in sorted(selection.labels.items()))
    ended: list[Mapping[str, Any]] = []
    async with aclosing(api.pages(WORKFLOWS, selection.namespace, label_selector=selector)) as pages:
        async for page in pages:
            ended += [_reduced(workflow) for workflow in page.items if _has_ended(workflow)]
    return ended


def _end_of(workflow: Mapping[str, Any]) -> tuple[str, str]:
    return workflow["metadata"]["uid"], workflow["status"]["completionTime"]


def _has_ended(workflow: Mapping[str, Any]) -> bool:
    return bool((workflow.get("status") or {}).get("completionTime"))


def _reduced(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata, status = workflow["metadata"], workflow["status"]
    return {
        "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
        "status": {name: status[name] for name in _FIELDS if name in status},
    }
