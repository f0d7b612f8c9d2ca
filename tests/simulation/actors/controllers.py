"""The controllers of a simulation: the real code of operator and triggerer, built as in their `__main__`.

Replaced are kopf (by a loop that reports Workflows in the same way, and misses deletions during a watch gap), the child
processes of the expression evaluator (by evaluation in place), and HTTP (by a receiver of notifications).
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Sequence
from functools import cache, partial
from typing import Any

from torpor.triggers import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
from torpor.triggers.services import Services
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.client.api import Api
from torpor_local.controllers import watch_workflows
from torpor_operator.app import ArchiveClients, EnabledComponents, Operator
from torpor_operator.schedules.plan import cron_source, source_plan
from torpor_operator.settings import Settings
from torpor_triggerer.app import Triggerer
from torpor_triggerer.services.trigger_services import Backends
from torpor_triggerer.settings import Settings as TriggererSettings
from torpor_triggerer.sharding import assignment
from torpor_triggerer.usercode import registry
from torpor_wire import constants

from tests.simulation.actors.api_server import SimulatedApiServer
from tests.simulation.actors.archive import SimulatedArchive
from tests.simulation.actors.objects import TokenNetwork, accounts_of
from tests.simulation.actors.receiver import SimulatedReceiver
from tests.simulation.actors.sources import BellTrigger, LogTrigger
from tests.simulation.process import Process, ProcessClock

SYSTEM = "torpor-system"
HISTORY_MAX, HISTORY_KEPT = 6, 3
SHARDS = 8
LEASE_SECONDS = 6
GRACE = 20.0
RELIST_LIMITS = (1000, 0)
SETTINGS = Settings(
    former_pod_grace=3.0,
    archive_grace=4.0,
    finished_pod_grace=5.0,
    image_pull_grace=20.0,
    triggerer_grace=GRACE,
    node_grace=6.0,
    max_launches=3,
    resync=60.0,
    lease_duration=LEASE_SECONDS,
    reconcilers=3,
)


def few_shards() -> None:
    """As many shards as a small simulation needs, in this interpreter: with 256 it would do little but list them."""
    constants.SHARDS = SHARDS
    assignment.owned.__defaults__ = assignment.selector.__defaults__ = (SHARDS,)


def short_histories() -> None:
    """Histories that a small simulation fills, in this interpreter."""
    constants.HISTORY_MAX, constants.HISTORY_KEPT = HISTORY_MAX, HISTORY_KEPT


def short_pauses() -> None:
    """Pauses of Schedules that a small simulation reaches, in this interpreter."""
    cron_source.GRACE, source_plan.RECREATE_AFTER = 8.0, 10.0


async def operator(
    server: SimulatedApiServer,
    process: Process,
    rng: random.Random,
    *,
    simulated: SimulatedArchive,
    scheduled: bool = False,
) -> None:
    """One replica; returns or raises where the real process would exit.

    As a new leader, some list all objects again, as in a small cluster. The others read what has changed.
    """
    api = Api(server.transport(process), ProcessClock(process), jitter=rng.random)
    archive = ArchiveClients(store=simulated, post=simulated.post, reader=simulated)
    limit = RELIST_LIMITS[rng.getrandbits(1)]
    settings = SETTINGS.model_copy(update={"identity": process.name, "relist_limit": limit})
    enabled = EnabledComponents(archive=simulated.installed, schedules=scheduled, cluster_checks=False)
    replica = Operator.build(api, settings, InProcess(), archive, jitter=rng.random, enabled=enabled)
    await replica.run(partial(watch_workflows, api))


_ENDING = {"ends": TaskSuccessEvent, "fails": TaskFailedEvent, "skips": TaskSkippedEvent}
"""Words of a trigger whose event ends the task."""


class ScriptedTrigger(BaseTrigger):
    """Fires after so many looks, with an event that no other run of it yields; or raises, or ends."""

    shareable = True
    numbers = itertools.count(1)

    def __init__(self, looks: int = 1, word: str = "poll", token: str = "") -> None:
        self._looks = looks
        self._token = token
        self._word = word

    async def run(self) -> AsyncIterator[TriggerEvent]:
        for _ in range(self._looks):
            await self.services.sleep(0.5)
        if self._word == "bad":
            raise LookupError("as the script says")
        if self._word == "mute":
            return
        kind = _ENDING.get(self._word, TriggerEvent)
        yield kind({"number": next(ScriptedTrigger.numbers), "token": self._token})


class ScriptedBatchTrigger(BaseTrigger):
    """Fires from a moment on; all of them are asked for at once."""

    shareable = True
    interval = 1.0
    source = "all"

    def __init__(self, at: float, token: str) -> None:
        self.at = at
        self.token = token

    @classmethod
    async def poll_many(
        cls, waits: Sequence["ScriptedBatchTrigger"], services: Services
    ) -> Sequence[TriggerEvent | None]:
        await services.sleep(0.01)
        return [
            TriggerEvent({"number": next(ScriptedTrigger.numbers), "token": wait.token})
            if services.now() >= wait.at
            else None
            for wait in waits
        ]


async def triggerer(
    server: SimulatedApiServer,
    process: Process,
    rng: random.Random,
    *,
    receiver: SimulatedReceiver,
    scheduled: bool = False,
) -> None:
    """One replica. Runs until it crashes or stops. The sources of Schedules wait for ever: they need capacity."""
    api = Api(TokenNetwork(server, process), ProcessClock(process), jitter=rng.random)
    capacity = rng.choice((1, 2, 1000, 1000))
    settings = TriggererSettings(
        identity=process.name,
        namespace=SYSTEM,
        lease_duration=LEASE_SECONDS,
        kill_seconds=4.0,
        look_seconds=4.0,
        capacity=1000 if scheduled else capacity,
    )
    backends = Backends(api=api, evaluator=InProcess(), web=receiver, as_account=accounts_of(server, process))
    stopping = asyncio.Event()
    process.on_term = stopping.set
    await Triggerer(backends, _registry(), settings).run(stopping)


@cache
def _registry() -> registry.Registry:
    loaded = registry.load({})
    known: dict[str, Any] = {
        name: loaded.find(name)
        for name in ("time", "duration", "cron", "workflow", "notification", constants.OBJECT_TASK)
    }
    scripted = {"odd": ScriptedTrigger, "odd_many": ScriptedBatchTrigger, "log": LogTrigger, "bell": BellTrigger}
    return registry.Registry(known | scripted)
