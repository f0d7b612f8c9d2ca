"""One wait being served here: what is known of it, and nothing of what is to be done."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from torpor_triggerer import conduct
from torpor_triggerer.crowd import Looks
from torpor_triggerer.journal import Page
from torpor_triggerer.outcome import Outcome
from torpor_triggerer.timers import Timer
from torpor_triggerer.wait import Wait

if TYPE_CHECKING:
    from torpor_triggerer.poke import Poke

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Due(Enum):
    """Why a run's alarm rings."""

    PAYLOAD = "its moment has come"
    DEADLINE = "the wait has lasted too long"
    ABANDON = "its trigger was stopped, and goes on all the same"


class Told(NamedTuple):
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
    page: Page
    trigger: Any = None
    poke: "Poke | None" = None
    task: asyncio.Task[None] | None = None
    timer: Timer[tuple["Run", Due]] | None = None
    verdict: Outcome | None = None
    hint: str = ""
    told: Told | None = None
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
            return self.hint if self.trigger is None else conduct.last_look(self.trigger)

    @property
    def asks(self) -> str:
        """What a person can do about it while it waits."""
        with self.page.speaking():
            return "" if self.trigger is None else conduct.asks(self.trigger)
