"""Posts an Event on an object whose work blocked the event loop, once a minute for each object."""

import asyncio

from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.resources import BACKFILLS, PODS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_operator import object_reports
from torpor_operator.model.actions import Notice
from torpor_operator.quarantine.object_ref import ObjectRef

_RESOURCES = {resource.kind: resource for resource in (WORKFLOWS, TASKRUNS, SCHEDULES, BACKFILLS, PODS)}
_EVERY = 60.0
_OBJECTS_MAX = 100
"""Objects that get an Event within a minute."""


class LongStepReporter:
    """One for a process."""

    def __init__(self, clock: Clock, poster: EventPoster) -> None:
        self._clock = clock
        self._poster = poster
        self._reported: dict[str, float] = {}
        self._posts: set[asyncio.Task[None]] = set()

    def report(self, ref: ObjectRef, seconds: float) -> None:
        """Post the Event beside other work."""
        now = self._clock.monotonic()
        self._reported = {uid: since for uid, since in self._reported.items() if now - since < _EVERY}
        if ref.uid in self._reported or len(self._reported) >= _OBJECTS_MAX:
            return
        self._reported[ref.uid] = now
        task = asyncio.create_task(self._post(ref, seconds))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _post(self, ref: ObjectRef, seconds: float) -> None:
        message = (
            f"The operator {'read' if ref.reading else 'planned'} this {ref.kind} for {seconds:.1f} s of CPU "
            "at once, and all other objects waited. Make it smaller"
        )
        notice = Notice(reason=Reason.LOOP_BLOCKED, message=message, warning=True)
        await object_reports.post(self._poster, _RESOURCES[ref.kind], ref, [notice])
