"""The state of one wait that this replica serves. It decides nothing."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from torpor_triggerer.batching.batches import Member, PollStats
from torpor_triggerer.logs.trigger_log import TriggerLog, WaitLog
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Outcome
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.services.trigger_services import TriggerServices
from torpor_triggerer.timers import Timer
from torpor_triggerer.usercode import invoke

_KEY_SHOWN = 8


@dataclass(slots=True, kw_only=True, eq=False)
class SharedTrigger:
    """A running trigger and the waits that share it.

    `first` is the wait that it was made for. `key` is equal for waits that may share it; None if it is not shareable.
    `started`: its task runs. `closed`: no wait can join, because it fired, failed or is stopping. `killed`: the last
    wait was cancelled. Between two polls it has no task: `timer` is for the next poll, or `member` is its entry in its
    source.
    """

    key: Hashable
    first: PackedWait
    trigger: Any
    services: TriggerServices
    trigger_log: InitVar[TriggerLog]
    wait_log: WaitLog = field(init=False)
    members: "list[WaitRun]" = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    timer: "Timer[SharedTrigger] | None" = None
    member: Member | None = None
    started: bool = False
    closed: bool = False
    killed: bool = False

    def __post_init__(self, trigger_log: TriggerLog) -> None:
        self.wait_log = trigger_log.create(self)

    @property
    def name(self) -> str:
        """Its name in the log."""
        stored = self.first.unpack().trigger
        return f"shared trigger {stored.key[:_KEY_SHOWN] if stored else ''}"

    @property
    def tag(self) -> str:
        """The prefix of its log lines: that of its only wait, or its own if several waits share it."""
        if len(self.members) == 1:
            return self.members[0].packed.tag
        return f"[{self.first.namespace} {self.name}]"

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        """The same as fields of a line of JSON."""
        if len(self.members) == 1:
            return self.members[0].packed.log_fields
        stored = self.first.unpack().trigger
        return {"namespace": self.first.namespace, "triggerKey": stored.key if stored else ""}


Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Due(Enum):
    """What to do when the timer of a run expires."""

    PAYLOAD = "payload"
    """Fire: the trigger knows its moment."""
    DEADLINE = "deadline"
    """End the wait: it reached its deadline."""
    GIVE_UP = "give-up"
    """Write the outcome: the trigger ignores its cancellation."""


class LastProgress(NamedTuple):
    """The last progress message: its time, the hash of the trigger's `last_look`, and the number of polls."""

    at: float
    look: int
    tries: int


@dataclass(slots=True, kw_only=True, eq=False)
class WaitRun:
    """One wait in service.

    `shared` runs its trigger; `task` does anything else for it: resolves its kwargs or writes its outcome.
    `outcome`: how the wait ends, independent of its trigger. `released`: no outcome is needed. `missing`: what the
    trigger needs before it can start. `due_at`: when its event occurred, or should have. `timed`: the wait needs its
    timer and no run.
    """

    packed: PackedWait
    wait_log: WaitLog
    trigger: Any = None
    shared: "SharedTrigger | None" = None
    task: asyncio.Task[None] | None = None
    timer: "Timer[Timed] | None" = None
    outcome: Outcome | None = None
    missing: str = ""
    last_progress: LastProgress | None = None
    due_at: float | None = None
    timed: bool = False
    reporting: bool = False
    released: bool = False

    @property
    def wait(self) -> TriggerWait:
        """The whole wait, unpacked: keep it no longer than needed."""
        return self.packed.unpack()

    @property
    def is_ending(self) -> bool:
        """Whether its outcome is decided, or not needed."""
        return self.reporting or self.released or self.outcome is not None

    @property
    def is_shared(self) -> bool:
        """Whether the trigger of another wait serves it."""
        return self.shared is not None and self not in self.shared.members[:1]

    @property
    def poll_stats(self) -> PollStats:
        """How often its trigger was polled, and when it is polled next."""
        return PollStats() if self.shared is None else self.shared.services.poll_stats

    @property
    def last_look(self) -> str:
        """The result of the trigger's last look, or what keeps the trigger from starting."""
        with self.wait_log.active():
            return self.missing if self.trigger is None else invoke.last_look(self.trigger)

    @property
    def asks(self) -> str:
        """What a person can do to end the wait."""
        with self.wait_log.active():
            return "" if self.trigger is None else invoke.asks(self.trigger)


Timed: TypeAlias = tuple[WaitRun, Due] | PackedWait
"""What a timer is for: something to do for a run, or a wait that has no run before that moment."""
