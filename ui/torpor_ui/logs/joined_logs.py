"""Joins logs into one, ordered by time. A log is opened when the others reach its beginning.

So the logs of attempts, which follow each other, have one connection at a time.
"""

import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, aclosing
from itertools import count

from torpor_client.logs.source import LogLine, LogSource

Open = Callable[[LogSource], AsyncGenerator[LogLine, None]]


async def joined(sources: Iterable[LogSource], open_log: Open) -> AsyncGenerator[LogLine, None]:
    """Yield the lines of logs in the order of time. Raises what reading one raises."""
    waiting = sorted(sources, key=lambda source: (source.start, source.name), reverse=True)
    numbers = count()
    heads: list[tuple[int, int, LogLine, AsyncIterator[LogLine]]] = []
    async with AsyncExitStack() as stack:
        while waiting or heads:
            while waiting and (not heads or waiting[-1].start <= heads[0][0]):
                opened = await stack.enter_async_context(aclosing(open_log(waiting.pop())))
                await _push(heads, opened, next(numbers))
            if heads:
                _, number, line, lines = heapq.heappop(heads)
                yield line
                await _push(heads, lines, number)


async def _push(
    heads: list[tuple[int, int, LogLine, AsyncIterator[LogLine]]], lines: AsyncIterator[LogLine], number: int
) -> None:
    line = await anext(lines, None)
    if line is not None:
        heapq.heappush(heads, (line.at, number, line, lines))
