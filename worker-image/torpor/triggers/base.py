"""The contract of a trigger: Airflow's, by the names of its methods alone.

Whatever has `serialize` and `run` is a trigger, so Airflow's own run unmodified; this base class only spares writing
the optional parts. A trigger may run more than once, on more than one machine: it must not have effects of its own.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from torpor.triggers import polling
from torpor.triggers.services import Services


class TriggerEvent:
    """What a trigger yields when it fires; the payload is JSON of 4 kB at most, or None."""

    __slots__ = ("payload",)

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload

    def __repr__(self) -> str:
        return f"TriggerEvent({self.payload!r})"


class BaseTrigger:
    """A wait. `__init__` takes what `serialize` gives, and raises ValueError or TypeError for what makes no sense.

    A class may also have `due() -> float` (seconds since the epoch) and `payload()`: then `run` is not started at all,
    and the payload is fired at that moment. `last_look` says for people what was found when it was last looked.

    A class whose looking blocks says `blocking = True` and has `look()` in place of `run`: it is called in a worker
    thread, every `interval` seconds. `requires` names the packages outside the standard library that it imports, and
    `extra` what pip installs for them: where one is missing, a TaskRun that asks for the class fails with that.
    """

    blocking = False
    interval = polling.INTERVAL
    last_look = ""
    requires: Sequence[str] = ()
    extra = ""

    services: Services

    def bind(self, services: Services) -> None:
        """Called in the triggerer before `run`; raises ValueError where the wait is not allowed or cannot work."""
        self.services = services

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """The registered name of the class and the keyword arguments that make an equal trigger."""
        raise NotImplementedError(f"{type(self).__name__} has no serialize()")

    def look(self) -> Any:
        """Whether it has happened: the event's payload, or None for not yet. For classes that are `blocking`."""
        raise NotImplementedError(f"{type(self).__name__} has no look()")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield an event when what is waited for has happened; only the first one counts. An async generator."""
        if not self.blocking:
            raise NotImplementedError(f"{type(self).__name__} has no run()")
        yield TriggerEvent(await polling.found(self.services, self._look_in_thread, self.interval))

    async def cleanup(self) -> None:
        """Called whenever `run` has ended, for whatever reason."""

    async def on_kill(self) -> None:
        """Called where the wait was cancelled with its run; not where it moves to another triggerer."""

    async def _look_in_thread(self) -> Any:
        return await self.services.in_thread(self.look)
