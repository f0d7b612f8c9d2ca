"""Why nothing looks for a wait that queues, said on its TaskRun: for want of room on the replica that owns its shard.

Said once it has lasted, and seldom again, within the budget of all sentences; the oldest are told first. Namespaces
share the room, so a younger wait of another may get room before. When the wait has got its room that is said too, for a
trigger that does not look would never say anything else.
"""

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Never, TypeAlias

from torpor_api.cache.store import Key
from torpor_api.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import Turn, Wait
from torpor_triggerer.reporting.events import Budget
from torpor_triggerer.running.scheduler import Runner

EVERY = 1.0
LOOKED_AT = 1000
"""How many that queue are looked at in one go, a microsecond each."""
FIRST_AFTER = 10.0
AGAIN_AFTER = 600.0

Tell: TypeAlias = Callable[[Wait, Reason, str], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


class Queueing:
    """Goes round what queues; `tell` writes one sentence, best effort."""

    def __init__(self, clock: Clock, budget: Budget, runner: Runner, *, capacity: int, tell: Tell) -> None:
        self._clock = clock
        self._budget = budget
        self._runner = runner
        self._capacity = capacity
        self._tell = tell
        self._told: dict[Key, tuple[Turn, float]] = {}
        self._round: deque[tuple[int, Wait]] = deque()

    async def run(self) -> Never:
        """Tell, for ever."""
        while True:
            await self._clock.sleep(EVERY)
            try:
                await self._go_on()
            except Exception:
                log.exception("it cannot be said what queues")

    async def _go_on(self) -> None:
        self._forget()
        for wait in self._begun():
            if not self._budget.take(wait.namespace):
                return
            del self._told[_key(wait)]
            await self._tell(wait, Reason.WAITING, f"Waiting {wait.awaited}")
        if not self._round:
            self._round.extend(enumerate(self._runner.queue()))
        for _ in range(min(LOOKED_AT, len(self._round))):
            older, wait = self._round[0]
            if self._is_due(wait):
                if not self._budget.take(wait.namespace):
                    return
                self._told[_key(wait)] = wait.turn, self._clock.now()
                await self._tell(wait, Reason.QUEUED, sentence(self._capacity, older))
            self._round.popleft()

    def _forget(self) -> None:
        """What has ended, or says of itself by now what it found."""
        for key, (turn, _) in list(self._told.items()):
            run, waits = self._runner.find(key), self._runner.find_queued(key)
            runs = run is not None and run.wait.turn == turn and run.told is None
            if not runs and (waits is None or waits.turn != turn):
                del self._told[key]

    def _begun(self) -> list[Wait]:
        runs = (self._runner.find(key) for key in self._told)
        return [run.wait for run in runs if run is not None]

    def _is_due(self, wait: Wait) -> bool:
        if self._runner.find_queued(_key(wait)) is not wait:
            return False
        told = self._told.get(_key(wait))
        since = wait.deferred_at + FIRST_AFTER if told is None else told[1] + AGAIN_AFTER
        return self._clock.now() >= since


def sentence(capacity: int, older: int) -> str:
    """What holds it up, and what would help."""
    run = "1 wait runs" if capacity == 1 else f"{capacity} waits run"
    queue = "1 older one queues" if older == 1 else f"{older} older ones queue"
    others = f", and {queue}" if older else ""
    return f"Waiting for room: {run} on this replica{others}; the pool needs more replicas or capacity"


def _key(wait: Wait) -> Key:
    return Key(wait.namespace, wait.name)
