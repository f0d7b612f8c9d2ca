"""`python -m benchmarks.scale.worker SOCKET SERVER PKI`: the worker of the workflow bench, whose tasks can defer.

A task of a Workflow whose name begins with `DEFERRING` claims and defers to a moment that never comes.
"""

import asyncio
import itertools
import json
import sys
import time

from torpor.runtime.environment import Launch
from torpor_wire import constants, transitions, trigger
from torpor_wire.state import State
from torpor_wire.transitions import Patch

from benchmarks.harness import worker

DEFERRING = "deferring"
MOMENT = "2100-01-01T00:00:00"
"""Of the waits that must not fire; copies have other years."""
RESUME = {"method": "reports.tasks:load", "kwargs": json.dumps({"day": "2026-11-20", "rows": 120_000})}


class DeferringWorker(worker.PodWorker):
    """Numbers its waits, so that no two are the same."""

    _numbers = itertools.count()

    async def live(self, launched: Launch) -> None:
        """Claim, then defer or report."""
        if not launched.taskrun.startswith(DEFERRING):
            await super().live(launched)
            return
        if await self.claim(launched):
            await self.write(launched, self._deferral(launched, time.time()))
        self.report(launched.pod_uid)

    def _deferral(self, launched: Launch, now: float) -> Patch:
        waiting = trigger.build(
            "time",
            {"at": f"{MOMENT}.{next(self._numbers):06d}Z"},
            namespace=launched.namespace,
            pool=constants.DEFAULT_POOL,
            now=now,
            taskrun=launched.taskrun,
        )
        return transitions.defer(launched.pin(State.RUNNING), waiting, resume=dict(RESUME), deadline=None, now=now)


if __name__ == "__main__":
    asyncio.run(worker.main(*sys.argv[1:], kind=DeferringWorker))
