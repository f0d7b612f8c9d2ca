"""Triggers with `poll_many` over a table in memory with faults, and a shared poll of their waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from torpor.triggers import TriggerEvent
from torpor_triggerer.batching.batches import PollStats
from torpor_triggerer.batching.pollers import Pollers
from torpor_triggerer.batching.source import PollContext

from tests.support.fake_api import VirtualClock
from tests.support.fake_api.clock import settle


@dataclass(eq=False)
class PolledTable:
    """`polls` has the numbers of each poll. A poll of a number in `raises` fails after `delay` seconds.

    A poll takes `seconds_each` for each wait; it fails after ten seconds or above `capacity` waits.
    """

    rows: set[int] = field(default_factory=set)
    polls: list[list[int]] = field(default_factory=list)
    raises: dict[int, BaseException] = field(default_factory=dict)
    error: BaseException | None = None
    latency: float = 0.0
    delay: float = 0.0
    seconds_each: float = 0.0
    capacity: int = 1_000_000


class Row:
    """A wait for a row of a table; `source` is the table by default."""

    poll_at_once = 1000

    def __init__(self, table: PolledTable, number: int, *, interval: Any = 10.0, source: Any = "table") -> None:
        self.table = table
        self.number = number
        self.interval = interval
        self.source = source
        self.last_look = ""

    @classmethod
    async def poll_many(cls, waits: Sequence["Row"], services: Any) -> list[Any]:
        table: PolledTable = waits[0].table
        table.polls.append([wait.number for wait in waits])
        latency = (
            table.latency
            + len(waits) * table.seconds_each
            + (table.delay if any(wait.number in table.raises for wait in waits) else 0.0)
        )
        if latency:
            await services.clock.sleep(latency if table.seconds_each == 0 else min(latency, 10))
        if table.error is not None:
            raise table.error
        for wait in waits:
            if wait.number in table.raises:
                raise table.raises[wait.number]
        if len(waits) > table.capacity or latency > 10:
            raise TimeoutError("too many")
        for wait in waits:
            wait.last_look = "no row"
        return [TriggerEvent(wait.number) if wait.number in table.rows else None for wait in waits]


@dataclass(kw_only=True)
class SharedPoll:
    """Waits on one table, in virtual time. `on_release` is called when a source ends."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    pollers: Pollers = field(default_factory=Pollers)
    table: PolledTable = field(default_factory=PolledTable)
    tasks: dict[int, asyncio.Task[Any]] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    on_release: Callable[[], None] = lambda: None

    def wait(self, *numbers: int, owner: tuple[str, str] = ("workflows", "default"), **given: Any) -> None:
        """Start waits for these rows; `given` are arguments of the triggers."""
        kind = given.pop("kind", Row)
        context = PollContext(owner, self.clock, lambda: 0.5, self._lend)  # type: ignore[arg-type]
        for number in numbers:
            row = self.rows[number] = kind(self.table, number, **given)
            self.tasks[number] = asyncio.create_task(self._event(row, context))

    def _lend(self, until: AsyncExitStack) -> "SharedPoll":
        until.callback(self.on_release)
        return self

    async def _event(self, row: Row, context: PollContext) -> Any:
        return await self.pollers.event(row, PollStats(), context)

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def settle(self) -> None:
        await settle()

    def outcomes(self) -> dict[int, Any]:
        """Payloads and errors of the waits that have ended."""
        return {number: _outcome(task) for number, task in self.tasks.items() if task.done() and not task.cancelled()}

    def waiting(self) -> set[int]:
        return {number for number, task in self.tasks.items() if not task.done()}

    def sizes(self) -> list[int]:
        """The numbers of waits in each poll since the last call."""
        sizes = [len(numbers) for numbers in self.table.polls]
        self.table.polls.clear()
        return sizes


def _outcome(task: asyncio.Task[Any]) -> Any:
    return task.exception() or task.result().payload


@asynccontextmanager
async def shared_poll(*, waits: int = 0, **table: Any) -> AsyncIterator[SharedPoll]:
    """A poll with `waits` waits, numbered from 0; `table` are fields of the table."""
    poll = SharedPoll(table=PolledTable(**table))
    poll.wait(*range(waits))
    try:
        yield poll
    finally:
        for task in poll.tasks.values():
            task.cancel()
        await asyncio.gather(*poll.tasks.values(), return_exceptions=True)
        await poll.pollers.ended()
