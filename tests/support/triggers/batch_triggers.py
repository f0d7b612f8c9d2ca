"""Triggers with `poll_many` over a table in memory that misbehaves as told, and what waits for them."""

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
class Table:
    """`asked` has the ids of each poll; `raises`: what asking for one of these comes to, after `drag` seconds;
    `each`: seconds that one takes, of which ten are too many."""

    rows: set[int] = field(default_factory=set)
    asked: list[list[int]] = field(default_factory=list)
    raises: dict[int, BaseException] = field(default_factory=dict)
    down: BaseException | None = None
    latency: float = 0.0
    drag: float = 0.0
    each: float = 0.0
    room: int = 1_000_000


class Row:
    """A wait for a row of a table; `source` is the table but for those who say otherwise."""

    poll_at_once = 1000

    def __init__(self, table: Table, number: int, *, interval: Any = 10.0, source: Any = "table") -> None:
        self.table = table
        self.number = number
        self.interval = interval
        self.source = source
        self.last_look = ""

    @classmethod
    async def poll_many(cls, waits: Sequence["Row"], services: Any) -> list[Any]:
        table: Table = waits[0].table
        table.asked.append([one.number for one in waits])
        latency = (
            table.latency
            + len(waits) * table.each
            + (table.drag if any(one.number in table.raises for one in waits) else 0.0)
        )
        if latency:
            await services.clock.sleep(latency if table.each == 0 else min(latency, 10))
        if table.down is not None:
            raise table.down
        for one in waits:
            if one.number in table.raises:
                raise table.raises[one.number]
        if len(waits) > table.room or latency > 10:
            raise TimeoutError("too many")
        for one in waits:
            one.last_look = "no row"
        return [TriggerEvent(one.number) if one.number in table.rows else None for one in waits]


@dataclass(kw_only=True)
class Crowd:
    """Waits on one table, in virtual time. `clock` is what the polls are lent; `until` is called when a source ends."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    pollers: Pollers = field(default_factory=Pollers)
    table: Table = field(default_factory=Table)
    tasks: dict[int, asyncio.Task[Any]] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    until: Callable[[], None] = lambda: None

    def wait(self, *numbers: int, owner: tuple[str, str] = ("workflows", "default"), **given: Any) -> None:
        """For these rows; `given` are the triggers'."""
        kind = given.pop("kind", Row)
        context = PollContext(owner, self.clock, lambda: 0.5, self._lend)  # type: ignore[arg-type]
        for number in numbers:
            row = self.rows[number] = kind(self.table, number, **given)
            self.tasks[number] = asyncio.create_task(self._event(row, context))

    def _lend(self, until: AsyncExitStack) -> "Crowd":
        until.callback(self.until)
        return self

    async def _event(self, row: Row, context: PollContext) -> Any:
        return await self.pollers.event(row, PollStats(), context)

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def rest(self) -> None:
        await settle()

    def told(self) -> dict[int, Any]:
        """What the waits that have ended were told: payloads, and errors."""
        return {number: _told(task) for number, task in self.tasks.items() if task.done() and not task.cancelled()}

    def waiting(self) -> set[int]:
        return {number for number, task in self.tasks.items() if not task.done()}

    def polled(self) -> list[int]:
        """How many each poll since the last call was for."""
        found = [len(one) for one in self.table.asked]
        self.table.asked.clear()
        return found


def _told(task: asyncio.Task[Any]) -> Any:
    return task.exception() or task.result().payload


@asynccontextmanager
async def crowd(**table: Any) -> AsyncIterator[Crowd]:
    found = Crowd(table=Table(**table))
    try:
        yield found
    finally:
        for task in found.tasks.values():
            task.cancel()
        await asyncio.gather(*found.tasks.values(), return_exceptions=True)
        await found.pollers.ended()
