"""Remembers until when spans were exported, so that the next leader exports what ended while none led.

The moment is an annotation of the operator's Lease. It lies a minute back, so a restart may export the spans of a
minute again. They have the same ids: a trace store replaces them.
"""

import logging
from contextlib import aclosing
from typing import Never

from pydantic import ValidationError
from torpor_crds.models import workflow as workflows
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES, TASKRUNS, WORKFLOWS
from torpor_wire import constants, times

from torpor_operator.observability.span_exporter import SpanExporter

INTERVAL = 60.0
_MARGIN = 60.0
_TRIES = 5
_PAUSE = 5.0
_PATH = "/metadata/annotations/" + constants.TRACES_UNTIL.replace("/", "~1")
_LOG = logging.getLogger(__name__)


class SpanWatermark:
    """The annotation of one Lease, and the list that a new leader reads."""

    def __init__(
        self, api: Api, exporter: SpanExporter, *, namespace: str, lease: str, served: tuple[str, ...] = ()
    ) -> None:
        self._api = api
        self._exporter = exporter
        self._namespace = namespace
        self._lease = lease
        self._served = served

    async def run(self) -> Never:
        """Export what ended since the stored moment, then store the moment from time to time. While this leads."""
        while True:
            try:
                await self._catch_up()
                break
            except errors.ApiError as error:
                _LOG.warning("cannot list what ended without a leader: %s", error.message)
                await self._api.clock.sleep(_PAUSE)
        stored = 0
        while True:
            await self._api.clock.sleep(INTERVAL)
            exported = self._exporter.exported
            if self._exporter.is_idle and (exported != stored or not stored):
                stored = exported
                await self._store(self._api.clock.now() - _MARGIN)

    async def _catch_up(self) -> None:
        until = await self._read()
        if until is None:
            return
        async with aclosing(self._api.pages_in(TASKRUNS, self._served)) as pages:
            async for page in pages:
                for body in page.items:
                    if _ended_after(body, until):
                        self._exporter.add_taskrun(body)
                await self._api.clock.sleep(0)
        async with aclosing(self._api.pages_in(WORKFLOWS, self._served)) as pages:
            async for page in pages:
                for body in page.items:
                    if _ended_after(body, until):
                        self._add_run(body)

    def _add_run(self, body: dict[str, object]) -> None:
        try:
            self._exporter.add_run(workflows.parse(body))
        except ValidationError as error:
            _LOG.warning("no span of a Workflow that cannot be read: %s", error)

    async def _read(self) -> float | None:
        try:
            lease = await self._api.get(LEASES, self._namespace, self._lease)
            return times.epoch(lease["metadata"]["annotations"][constants.TRACES_UNTIL])
        except (errors.NotFound, KeyError, TypeError, ValueError):
            return None

    async def _store(self, moment: float) -> None:
        """Store the moment. A failure costs the export of more spans again."""
        for _ in range(_TRIES):
            try:
                metadata = (await self._api.get(LEASES, self._namespace, self._lease))["metadata"]
                ops = [{"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}]
                if not metadata.get("annotations"):
                    ops.append({"op": "add", "path": "/metadata/annotations", "value": {}})
                ops.append({"op": "add", "path": _PATH, "value": times.rfc3339(moment)})
                await self._api.patch(LEASES, self._namespace, self._lease, ops)
            except errors.LostRace:  # the Lease is renewed every few seconds
                continue
            except errors.ApiError as error:
                _LOG.warning("cannot store until when spans were exported: %s", error.message)
            return


def _ended_after(body: dict[str, object], moment: float) -> bool:
    status = body.get("status")
    completed = status.get("completionTime") if isinstance(status, dict) else None
    try:
        return completed is not None and times.epoch(str(completed)) > moment
    except ValueError:
        return False
