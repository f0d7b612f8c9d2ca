"""The contract of a trigger: Airflow's, by the names of its methods alone.

Whatever has `serialize` and `run` is a trigger, so Airflow's own run unmodified; this base class only spares writing
the optional parts. A trigger may run more than once, on more than one machine: it must not have effects of its own.
"""

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from typing import Any

from torpor.triggers.services import Services
from torpor.triggers.support import polling


class TriggerEvent:
    """What a trigger yields when it fires; the payload is JSON or None, of 1 MiB with an archive, of 4 kB without one.

    It may hold datetimes, dates, timedeltas, tuples, sets, Decimals, UUIDs and bytes, which the task gets as they were.
    """

    __slots__ = ("payload",)

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.payload!r})"


class TaskSuccessEvent(TriggerEvent):
    """Ends the task as Succeeded, without another pod; the payload is its result."""

    __slots__ = ()


class TaskFailedEvent(TriggerEvent):
    """Ends the task as Failed, without a retry; the payload says why."""

    __slots__ = ()


class TaskSkippedEvent(TriggerEvent):
    """Ends the task as Skipped; the payload says why."""

    __slots__ = ()


class BaseTrigger:
    """A wait. `__init__` takes what `serialize` gives, and raises ValueError or TypeError for what makes no sense.

    A class may also have `due() -> float` (seconds since the epoch) and `payload()`: then `run` is not started at all,
    and the payload is fired at that moment. `last_look` says for people what was found when it was last looked,
    `asks` what they can do about it while it waits.

    A class whose looking blocks says `blocking = True` and has `look()` in place of `run`: it is called in a worker
    thread, every `interval` seconds. `requires` names the packages outside the standard library that it imports, and
    `extra` what pip installs for them: where one is missing, a TaskRun that asks for the class fails with that.

    TaskRuns that wait for the same share one running trigger where its class says `shareable = True` itself. That is
    for a class that has no effects and whose answer is no TaskRun's own. A class that does not say it, or inherits it
    from a class of Torpor's, runs once for each TaskRun.

    A class that can answer many waits by one query has, in place of `run`, a `source` and

        @classmethod
        async def poll_many(cls, waits, services) -> Sequence[TriggerEvent | Exception | None]

    All waits of a namespace and service account with an equal `source` (None: each by itself) are polled together, the
    first time at once, then as often as the shortest of their intervals says, `poll_at_once` of them in one call at
    most. It gives one answer for each wait, in their order: its event, None for not yet, or the error that ends this
    wait and no other. It says in each wait's `last_look` what it found. What it raises means:

    - PermissionError: the source refuses its credentials; all of these waits fail with it.
    - TimeoutError: too much was asked; they go on waiting, and fewer are asked for at once.
    - any other OSError: no answer now; all go on waiting with its words as their last look, and the source is left in
      peace longer each time, or for its `retry_after` seconds (`polling.BusyError`).
    - anything else: one of them is to blame. They are asked for in halves, until who is fails, alone.

    `source` holds whatever makes an answer another, such as the query's text and the revealed credentials; it is never
    shown. Any wait may come and go between two polls and during one, so state stays on the waits; clients that are
    `services.shared` are kept until the last wait of the source has gone. A poll may take two minutes. Where nothing
    was bound, as in Airflow's triggerer, each wait is polled by itself, and `services` is None.
    """

    blocking = False
    shareable = True
    interval: float = polling.INTERVAL
    source: Hashable = None
    poll_at_once = 1000
    last_look = ""
    asks = ""
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
        if hasattr(type(self), "poll_many"):
            services = getattr(self, "services", None)
            yield await (polling.alone(self) if services is None else services.polled(self))
        elif self.blocking:
            yield TriggerEvent(await polling.found(self.services, self._look_in_thread, self.interval))
        else:
            raise NotImplementedError(f"{type(self).__name__} has no run()")

    async def cleanup(self) -> None:
        """Called whenever `run` has ended, for whatever reason."""

    async def on_kill(self) -> None:
        """Called where the wait was cancelled with its run; not where it moves to another triggerer."""

    async def _look_in_thread(self) -> Any:
        return await self.services.in_thread(self.look)
