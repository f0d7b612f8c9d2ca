"""The contract of a trigger: that of Airflow, by method names alone.

Any class with `serialize` and `run` is a trigger, so Airflow's triggers run unmodified. `BaseTrigger` provides the
optional parts. A trigger may run more than once and on more than one machine, so it must not have side effects.
"""

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import polling

_SHAREABLE = "shareable"
_OWN = "torpor.triggers"


class BaseTrigger:
    """The base class of triggers. `__init__` takes what `serialize` returns, and raises ValueError or TypeError.

        class Ready(BaseTrigger):
            def __init__(self, url: str) -> None:
                self.url = url

            def serialize(self):
                return "ready", {"url": self.url}

            async def run(self):
                while not await is_ready(self.url):
                    await self.services.sleep(5)
                yield TriggerEvent({"url": self.url})

    Optional attributes and methods:

    * `due() -> float` (seconds since the epoch) and `payload()`: the payload fires at that time, and `run` never
      starts.
    * `last_look`: what the last check found, for people. `asks`: what people can do about it.
    * `poll()` instead of `run()`: a coroutine that checks once, every `interval` seconds (0.1 or more). It returns the
      payload, or None for not yet. Between two polls the triggerer holds no task for such a trigger.
    * `blocking = True` with a plain `def poll(self)`: the same in a worker thread.
    * `requires`: packages outside the standard library that the class imports. `extra`: what pip installs for them. If
      one is missing, a TaskRun with this trigger fails and names it.
    * `shareable = True`: TaskRuns that wait for the same share one running trigger. Only for a class without side
      effects whose event depends on no TaskRun. A subclass of a class of Torpor must set it itself.

    A class that can serve many deferrals with one query has a `source` instead of `run`, and

        @classmethod
        async def poll_many(cls, waits, services) -> Sequence[TriggerEvent | Exception | None]

    The triggerer polls all deferrals of a namespace and service account with an equal `source` together (None: each
    alone). The first poll is immediate, later ones follow the shortest interval. One call gets up to `poll_at_once`
    triggers. It returns, in order, an event, None for not yet, or an error that ends this deferral alone, and sets
    `last_look` of each. If it raises

    * PermissionError, the source rejects the credentials: all these deferrals fail.
    * TimeoutError, the query was too large: the next ones ask for fewer deferrals.
    * any other OSError, there is no answer: all keep waiting, and polls back off exponentially or for `retry_after`
      seconds (`polling.BusyError`).
    * anything else, one of them is the cause: the triggerer bisects until that one fails alone.

    `source` contains everything that changes the answer, such as the query and the credentials. It is never shown. Keep
    state on the triggers, because they come and go between and during polls. Clients from `services.shared` live until
    the last deferral of the source ends. A poll may take two minutes. In Airflow's triggerer, each trigger is polled
    alone and `services` is None.
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
        """Called in the triggerer before `run`. Raises ValueError if the deferral is not allowed or cannot work."""
        self.services = services

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the registered name of the class, and the keyword arguments that create an equal trigger."""
        raise NotImplementedError(f"{type(self).__name__} has no serialize()")

    def poll(self) -> Any:
        """Check once: return the payload of the event, or None for not yet. For classes without `run()`.

        A coroutine, or a plain method of a class with `blocking = True`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield an event when the condition holds; an async generator. Only the first event counts."""
        if hasattr(type(self), "poll_many"):
            services = getattr(self, "services", None)
            yield await (polling.poll_alone(self) if services is None else services.polled(self))
        else:
            yield TriggerEvent(
                await polling.poll(self.services, partial(polling.poll_once, self), polling.interval_of(self))
            )

    def at_deadline(self) -> Any:
        """Return the payload of the event at the timeout of the deferral, or None: then the deferral times out."""
        return None

    async def cleanup(self) -> None:
        """Called after `run` has ended for any reason."""

    async def on_kill(self) -> None:
        """Called if the deferral was cancelled, and not when it moves to another triggerer."""

    async def settled(self) -> None:
        """Called after the outcome was written to the TaskRun, unless the deferral was cancelled."""


def is_shareable(trigger: Any) -> bool:
    """Return whether this trigger may serve several TaskRuns. Propagates exceptions of the `shareable` attribute.

    Torpor's own triggers have no side effects, so they may. Other classes may have some: Airflow's HttpTrigger sends
    its POST, and two tasks with the same POST mean two. Such a class is shared only if it says so itself.
    """
    says = decides_sharing(type(trigger)) or _SHAREABLE in getattr(trigger, "__dict__", ())
    return says and getattr(trigger, _SHAREABLE, False) is True


def decides_sharing(trigger_class: Any) -> bool:
    """Return whether the class sets `shareable` itself, instead of inheriting it from a class of Torpor."""
    for ancestor in getattr(trigger_class, "__mro__", ()):
        if _SHAREABLE in vars(ancestor):
            return is_builtin(trigger_class) or not is_builtin(ancestor)
    return False


def is_builtin(trigger_class: Any) -> bool:
    """Return whether a class is one of Torpor's triggers."""
    module = getattr(trigger_class, "__module__", "")
    return module == _OWN or str(module).startswith(f"{_OWN}.")
