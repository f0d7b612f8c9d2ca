"""Resolves references to Secrets and ConfigMaps, and sealed values, in a trigger's kwargs, and collects the secrets.

A value of a Secret is `Revealed`, so that a class can tell it from a value on the TaskRun. That of a ConfigMap is not.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torpor.triggers.support.arguments import Revealed
from torpor_kubernetes.timing import Clock
from torpor_wire import secret_ref, trigger
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff
from torpor_wire.secret_ref import KeyRef, SecretRef

from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.secrets.pool_keys import Opened, PoolKeys
from torpor_triggerer.secrets.reader import MissingSecret, SecretAccount, SecretKeyRef, SecretReader
from torpor_triggerer.usercode.validation import TriggerInvocation

log = logging.getLogger(__name__)

RETRY = Backoff(first=5.0, cap=60.0, jitter=0.0)
_NUMBER_MIN = 4
"""Shorter sealed numbers are not redacted: they would redact half of each line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The call with all kwargs resolved, and the secrets in it."""

    call: TriggerInvocation
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretResolver:
    """Resolves kwargs; without `pool_keys` it opens no sealed value."""

    reader: SecretReader
    pool_keys: PoolKeys | None

    async def resolve(self, wait: TriggerWait, call: TriggerInvocation) -> Resolved | MissingSecret | Failed:
        """Return the call with its references and sealed values resolved."""
        if not has_secrets(call.kwargs):
            return Resolved(call=call, secrets=frozenset())
        try:
            return await self._resolve(wait, call)
        except (ValueError, RecursionError) as error:
            return Failed(reason=Reason.TRIGGER_INVALID, message=f"trigger {call.class_name[:100]}: {error}")
        except Exception as error:
            log.exception("Failed to resolve the secrets of the kwargs")
            return MissingSecret(message=f"failed to resolve the secrets of the kwargs: {type(error).__name__}")

    async def resolve_when_available(
        self, wait: TriggerWait, call: TriggerInvocation, clock: Clock, on_missing: Callable[[str], None]
    ) -> Resolved | MissingSecret | Failed:
        """Retry `resolve` until nothing is missing. Missing only if the wait was cancelled meanwhile."""
        failures = 0
        while True:
            resolved = await self.resolve(wait, call)
            if not isinstance(resolved, MissingSecret) or wait.cancelled:
                return resolved
            on_missing(resolved.message)
            failures += 1
            delay = RETRY.delay(failures)
            log.info("%s; retrying in %.0f s", resolved.message, delay)
            await clock.sleep(delay)

    async def _resolve(self, wait: TriggerWait, call: TriggerInvocation) -> Resolved | MissingSecret | Failed:
        kwargs: Mapping[str, Any] = call.kwargs
        references = frozenset(map(_key_of, secret_ref.references(kwargs)))
        texts = await self.reader.read(SecretAccount(wait.namespace, wait.account), references)
        if not isinstance(texts, Mapping):
            return texts
        kwargs = secret_ref.replaced(kwargs, lambda reference: _value(reference, texts[_key_of(reference)]))
        if is_sealed(call.kwargs):
            known = frozenset(_strings(call.kwargs)) | {
                text for key, text in texts.items() if key.kind != SecretRef.kind
            }
            opened = await self._opened(call.class_name, kwargs, wait.namespace)
            if not isinstance(opened, dict):
                return opened
            kwargs = _marked(opened, known)
        shown = frozenset(_numbers(call.kwargs))
        secrets = {str(text) for text in _strings(kwargs) if isinstance(text, Revealed)}
        secrets |= {number for number in _numbers(kwargs) if len(number) >= _NUMBER_MIN and number not in shown}
        return Resolved(call=TriggerInvocation(class_name=call.class_name, kwargs=kwargs), secrets=frozenset(secrets))

    async def _opened(self, class_name: str, kwargs: Mapping[str, Any], namespace: str) -> Opened:
        if self.pool_keys is None:
            return Failed(reason=Reason.SEAL_INVALID, message="this triggerer cannot open sealed values")
        return await self.pool_keys.open(class_name, kwargs, namespace)


def _key_of(reference: KeyRef) -> SecretKeyRef:
    return SecretKeyRef(reference.name, reference.key, reference.kind)


def _value(reference: KeyRef, text: str) -> str:
    return Revealed(text) if isinstance(reference, SecretRef) else text


def has_secrets(kwargs: Mapping[str, Any]) -> bool:
    """Whether the kwargs have references or sealed values."""
    return trigger.refers_to_secret(kwargs) or is_sealed(kwargs)


def is_sealed(kwargs: Mapping[str, Any]) -> bool:
    """Whether the kwargs have a name that starts with `encrypted__`."""
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
    """The opened value; its texts are Revealed unless they are on the TaskRun, too."""
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
