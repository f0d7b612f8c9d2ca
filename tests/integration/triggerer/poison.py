"""A trigger class that does its worst, in the one way that its kwarg `does` says."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, NoReturn

from torpor.triggers import BaseTrigger, TriggerEvent


class UnspeakableError(Exception):
    """Its own text cannot be had."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


class Trap(Mapping[str, Any]):
    """A payload that cannot be read."""

    def __getitem__(self, name: str) -> NoReturn:
        raise KeyboardInterrupt

    def __iter__(self) -> Iterator[str]:
        sys.exit(3)

    def __len__(self) -> int:
        return 1


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    nested: Any = None
    for _ in range(levels):
        nested = [nested]
    return nested


PAYLOADS: dict[str, Any] = {
    "a megabyte": "x" * 1024 * 1024,
    "half a letter": "\ud800",
    "no json": {(1, object()): 2},
    "an object": object(),
    "infinite": float("inf"),
    "deep": deep(100_000),
    "a trap": Trap(),
}


class Poison(BaseTrigger):
    """Does what its arguments say."""

    def __init__(self, does: str, **_: Any) -> None:
        self.does = does
        if does == "__init__ exits":
            sys.exit(3)
        if does == "__init__ is interrupted":
            raise KeyboardInterrupt
        if does == "__init__ is unspeakable":
            raise UnspeakableError

    @property
    def last_look(self) -> str:  # type: ignore[override]
        if self.does == "looks badly":
            raise UnspeakableError
        return ""

    def __repr__(self) -> str:
        sys.exit(3)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        match self.does:
            case "exits":
                sys.exit(3)
            case "exits in a task":
                await asyncio.wait_for(self._exit(), 5)
            case "is interrupted":
                raise KeyboardInterrupt
            case "is interrupted in a task":
                await asyncio.wait_for(self._interrupt(), 5)
            case "is unspeakable":
                raise UnspeakableError
            case "cancels itself":
                raise asyncio.CancelledError
            case "never comes back":
                self._recurse()
            case _:
                yield TriggerEvent(PAYLOADS.get(self.does))

    async def cleanup(self) -> None:
        if self.does == "cleanup exits":
            sys.exit(3)
        if self.does == "cleanup is interrupted":
            raise KeyboardInterrupt

    async def _exit(self) -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    async def _interrupt(self) -> None:
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    def _recurse(self) -> None:
        self._recurse()
