"""Posts an Event on an object whose work blocked the event loop, once a minute for each object."""

import asyncio

from torpor_kubernetes.client import events
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import BACKFILLS, PODS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_kubernetes.client.write_limits import EventPoster
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.quarantine.object_ref import ObjectRef

_RESOURCES = {resource.kind: resource for resource in (WORKFLOWS, TASKRUNS, SCHEDULES, BACKFILLS, PODS)}
_EVERY = 60.0
_OBJECTS_MAX = 100
"""Objects that get an Event within a minute."""


class LongStepReporter:
    """One for a process."""

    def __init__(self, api: Api, poster: EventPoster) -> None:
        self._api = api
        self._poster = poster
        self._reported: dict[str, float] = {}
        self._posts: set[asyncio.Task[None]] = set()

    def report(self, ref: ObjectRef, seconds: float) -> None:
        """Post the Event beside other work."""
        now = self._api.clock.monotonic()
        self._reported = {uid: since for uid, since in self._reported.items() if now - since < _EVERY}
        if ref.uid in self._reported or len(self._reported) >= _OBJECTS_MAX:
            return
        self._reported[ref.uid] = now
        task = asyncio.create_task(self._post(ref, seconds))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _post(self, ref: ObjectRef, seconds: float) -> None:
        resource = _RESOURCES[ref.kind]
        event = events.build(
            events.reference(resource, namespace=ref.namespace, name=ref.name, uid=ref.uid),
            reason=Reason.LOOP_BLOCKED,
            message=f"The operator {'read' if ref.reading else 'planned'} this {ref.kind} for {seconds:.1f} s of CPU "
            "at once, and all other objects waited. Make it smaller",
            type="Warning",
            reporting_controller=f"{constants.GROUP}/operator",
            now=self._api.clock.now(),
        )
        await self._poster.try_post(event)
