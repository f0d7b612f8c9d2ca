"""Reads of many objects that several viewers of one identity share for a moment: statistics, not live views.

Each has a bound. A scan that is asked for again while it runs is not started twice.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from torpor_ui.cluster.caller import Caller

KEPT_SECONDS = 15.0
SCANS_MAX = 200

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Scan:
    task: asyncio.Task[Any]
    ended: float | None = None
    """When it ended, by the monotonic clock."""


class Scans:
    """The scans of this process, never shared between identities."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._scans: dict[tuple[str, str], _Scan] = {}

    async def get(self, caller: Caller, name: str, scan: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a scan that is at most `KEPT_SECONDS` old. Raises what the scan raises."""
        self._sweep()
        key = (caller.key, name)
        known = self._scans.get(key)
        if known is None:
            known = self._scans[key] = _Scan(task=asyncio.create_task(scan()))
            known.task.add_done_callback(lambda task: self._end(key, task))
        result: T = await asyncio.shield(known.task)
        return result

    def _end(self, key: tuple[str, str], task: asyncio.Task[Any]) -> None:
        scan = self._scans.get(key)
        if scan is None or scan.task is not task:
            return
        scan.ended = self._monotonic()
        if task.cancelled() or task.exception() is not None:
            del self._scans[key]

    def _sweep(self) -> None:
        """Forget what is old, and the oldest of too many."""
        now = self._monotonic()
        ended = {key: scan.ended for key, scan in self._scans.items() if scan.ended is not None}
        for number, (key, at) in enumerate(sorted(ended.items(), key=lambda entry: -entry[1])):
            if now - at >= KEPT_SECONDS or number >= SCANS_MAX:
                del self._scans[key]
