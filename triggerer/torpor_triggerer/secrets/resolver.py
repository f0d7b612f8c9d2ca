"""The kwargs of a trigger with nothing hidden in them any more, and the secrets that came up.

What came from a Secret or out of a box is `Revealed`, so that a class can tell it from what stands on the TaskRun.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torpor.triggers.support.secret_refs import Revealed
from torpor_api.timing import Clock
from torpor_wire import secret_ref, trigger
from torpor_wire.backoff import Backoff
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.secrets.pool_keys import Opened, Seals
from torpor_triggerer.secrets.reader import Missing, Reader, Reference, SecretReader
from torpor_triggerer.usercode.validation import Call

log = logging.getLogger(__name__)

RETRY = Backoff(first=5.0, cap=60.0, jitter=0.0)
_NUMBER_MIN = 4
"""A shorter number that was sealed is not blacked out: it would take half of each line with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """The call as the class is made of it."""

    call: Call
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revealer:
    """Where secrets are; without `seals` nothing sealed is opened."""

    vault: SecretReader
    seals: Seals | None

    async def reveal(self, wait: Wait, call: Call) -> Open | Missing | Failed:
        """The call with its references followed and its boxes opened."""
        if not is_hidden(call.kwargs):
            return Open(call=call, secrets=frozenset())
        try:
            return await self._reveal(wait, call)
        except (ValueError, RecursionError) as error:
            return Failed(reason=Reason.TRIGGER_INVALID, message=f"trigger {call.class_name[:100]}: {error}")
        except Exception as error:
            log.exception("what is hidden in its kwargs cannot be revealed")
            return Missing(message=f"its kwargs cannot be revealed: {type(error).__name__}")

    async def revealed(
        self, wait: Wait, call: Call, clock: Clock, on_missing: Callable[[str], None]
    ) -> Open | Missing | Failed:
        """The same, looked for again and again, since what is missing may come; Missing of a wait that is cancelled."""
        failures = 0
        while True:
            found = await self.reveal(wait, call)
            if not isinstance(found, Missing) or wait.cancelled:
                return found
            on_missing(found.message)
            failures += 1
            delay = RETRY.delay(failures)
            log.info("%s; retrying in %.0f s", found.message, delay)
            await clock.sleep(delay)

    async def _reveal(self, wait: Wait, call: Call) -> Open | Missing | Failed:
        kwargs: Mapping[str, Any] = call.kwargs
        references = frozenset(Reference(one.name, one.key) for one in secret_ref.found(kwargs))
        texts = await self.vault.read(Reader(wait.namespace, wait.account), references)
        if not isinstance(texts, Mapping):
            return texts
        kwargs = secret_ref.replaced(kwargs, lambda one: Revealed(texts[Reference(one.name, one.key)]))
        if is_sealed(call.kwargs):
            known = frozenset(_strings(call.kwargs))
            opened = await self._opened(call.class_name, kwargs, wait.namespace)
            if not isinstance(opened, dict):
                return opened
            kwargs = _marked(opened, known)
        shown = frozenset(_numbers(call.kwargs))
        found = {str(text) for text in _strings(kwargs) if isinstance(text, Revealed)}
        found |= {number for number in _numbers(kwargs) if len(number) >= _NUMBER_MIN and number not in shown}
        return Open(call=Call(class_name=call.class_name, kwargs=kwargs), secrets=frozenset(found))

    async def _opened(self, class_name: str, kwargs: Mapping[str, Any], namespace: str) -> Opened:
        if self.seals is None:
            return Failed(reason=Reason.SEAL_INVALID, message="this triggerer opens nothing that is sealed")
        return await self.seals.open(class_name, kwargs, namespace)


def is_hidden(kwargs: Mapping[str, Any]) -> bool:
    """Whether anything in them is to be revealed first."""
    return trigger.refers_to_secret(kwargs) or is_sealed(kwargs)


def is_sealed(kwargs: Mapping[str, Any]) -> bool:
    """Whether an `encrypted__` name stands anywhere in them."""
    left: list[Any] = [kwargs]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            if any(name.startswith(trigger.SEALED) for name in value):
                return True
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return False


def _marked(value: Any, known: frozenset[str]) -> Any:
    """What was opened, its texts marked but for those that stand on the TaskRun too."""
    match value:
        case Revealed():
            return value
        case str():
            return value if value in known else Revealed(value)
        case dict():
            return {name: _marked(inner, known) for name, inner in value.items()}
        case list():
            return [_marked(inner, known) for inner in value]
        case _:
            return value


def _numbers(value: Any) -> Iterator[str]:
    """Every number in it, as text."""
    match value:
        case bool():
            pass
        case int() | float():
            yield str(value)
        case Mapping():
            for inner in value.values():
                yield from _numbers(inner)
        case list():
            for inner in value:
                yield from _numbers(inner)
        case _:
            pass


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
        case _:
            pass
