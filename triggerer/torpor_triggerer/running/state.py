"""One wait being served here: what is known of it, and nothing of what is to be done."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from torpor_triggerer.batching.batches import Looks
from torpor_triggerer.logs.trigger_log import TriggerLog, WaitLog
from torpor_triggerer.model.deferred_taskrun import Asked, Wait
from torpor_triggerer.model.outcome import Outcome
from torpor_triggerer.running.timers import Timer
from torpor_triggerer.services.services import TriggerServices
from torpor_triggerer.usercode import invoke

_SHOWN = 8


@dataclass(slots=True, kw_only=True, eq=False)
class SharedTrigger:
    """`key` is what waits must agree in to share it, None where it is not to be shared.

    `closed`: nobody joins any more, for it has fired, failed, or is being stopped; `killed`: a person cancelled the
    last wait; `looking`: its task has begun.
    """

    key: Hashable
    asked: Asked
    namespace: str
    trigger: Any
    services: TriggerServices
    journal: InitVar[TriggerLog]
    page: WaitLog = field(init=False)
    members: "list[Run]" = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    looking: bool = False
    closed: bool = False
    killed: bool = False

    def __post_init__(self, journal: TriggerLog) -> None:
        self.page = journal.page(self)

    @property
    def name(self) -> str:
        """What the log calls it."""
        return f"poke {self.asked.key[:_SHOWN]}"

    @property
    def tag(self) -> str:
        """Whose its lines are: its only wait's, or its own where several share it."""
        if len(self.members) == 1:
            return self.members[0].wait.tag
        return f"[{self.namespace} {self.name}]"


Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Due(Enum):
    """Why a run's alarm rings."""

    PAYLOAD = "its moment has come"
    DEADLINE = "the wait has lasted too long"
    ABANDON = "its trigger was stopped, and goes on all the same"


class LastProgress(NamedTuple):
    """What was last said of it: when, the hash of its last look, and how many there were."""

    at: float
    look: int
    tries: int


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """`poke` is what looks for it, `task` what else is being done for it: its kwargs revealed, or its end written.

    `verdict`: how it ends, whatever its trigger says; `left`: nobody needs its outcome; `hint`: what it lacks;
    `due`: when its event was there, or should have been.
    """

    wait: Wait
    page: WaitLog
    trigger: Any = None
    poke: "SharedTrigger | None" = None
    task: asyncio.Task[None] | None = None
    timer: Timer[tuple["Run", Due]] | None = None
    verdict: Outcome | None = None
    hint: str = ""
    told: LastProgress | None = None
    due: float | None = None
    reporting: bool = False
    left: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether another wait's trigger looks for it."""
        return self.poke is not None and self not in self.poke.members[:1]

    @property
    def looks(self) -> Looks:
        """How often its trigger has looked, and when it looks again."""
        return Looks() if self.poke is None else self.poke.services.looks

    @property
    def last_look(self) -> str:
        """What its trigger found when it last looked, or what is missing for it to look at all."""
        with self.page.speaking():
            return self.hint if self.trigger is None else invoke.last_look(self.trigger)

    @property
    def asks(self) -> str:
        """What a person can do about it while it waits."""
        with self.page.speaking():
            return "" if self.trigger is None else invoke.asks(self.trigger)
