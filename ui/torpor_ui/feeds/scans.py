"""Reads of many objects that several viewers of one identity share for a moment: statistics, not live views.

Each has a bound. A scan that is asked for again while it runs is not started twice.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller

KEPT_SECONDS = 15.0
CALM = 10.0
"""A scan is done again after this many times what it took, if that is longer."""
SCANS_MAX = 200
RUNNING_MAX = 6
"""Scans of one identity at the same time: each reads thousands of objects."""

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Scan:
    task: asyncio.Task[Any]
    began: float
    until: float | None = None
    """When its result is too old, by the monotonic clock; None while it runs."""


class Scans:
    """The scans of this process, never shared between identities."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._scans: dict[tuple[str, str], _Scan] = {}
        self._forgotten: dict[asyncio.Task[Any], str] = {}
        """Scans that were forgotten while they ran, with their callers: they still count for the share."""

    async def get(self, caller: Caller, name: str, scan: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a scan, which may be some seconds old. Raises what the scan raises, or ProblemError."""
        self._sweep()
        key = (caller.key, name)
        known = self._scans.get(key)
        if known is None:
            self._check_share(caller)
            known = self._scans[key] = _Scan(task=asyncio.create_task(scan()), began=self._monotonic())
            known.task.add_done_callback(lambda task: self._end(key, task))
        result: T = await asyncio.shield(known.task)
        return result

    def forget(self, caller: Caller) -> None:
        """Forget the scans of a caller, who has just changed something. One that runs may have read what was before."""
        for key, scan in [(key, scan) for key, scan in self._scans.items() if key[0] == caller.key]:
            del self._scans[key]
            if scan.until is None:
                self._forgotten[scan.task] = caller.key

    def _check_share(self, caller: Caller) -> None:
        running = sum(1 for (owner, _), scan in self._scans.items() if owner == caller.key and scan.until is None)
        running += sum(1 for owner in self._forgotten.values() if owner == caller.key)
        if running >= RUNNING_MAX:
            raise errors.too_many(f"{running} overviews are read for you now", "Try again in a moment.")

    def _end(self, key: tuple[str, str], task: asyncio.Task[Any]) -> None:
        if self._forgotten.pop(task, None) is not None:
            _ = task.cancelled() or task.exception()  # nobody may wait for it, and asyncio would report its error
            return
        scan = self._scans.get(key)
        if scan is None or scan.task is not task:
            return
        now = self._monotonic()
        scan.until = now + max(KEPT_SECONDS, (now - scan.began) * CALM)
        if task.cancelled() or task.exception() is not None:
            del self._scans[key]

    def _sweep(self) -> None:
        """Forget what is old, and the oldest of too many."""
        now = self._monotonic()
        ended = {key: scan.until for key, scan in self._scans.items() if scan.until is not None}
        for number, (key, until) in enumerate(sorted(ended.items(), key=lambda entry: -entry[1])):
            if now >= until or number >= SCANS_MAX:
                del self._scans[key]
