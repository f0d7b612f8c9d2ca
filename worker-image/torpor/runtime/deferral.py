"""Validates a deferral and prepares what is stored: the trigger, sealed values, the state and the timeout.

A deferral that cannot be stored is rejected here with a message that says what to change.
"""

import math
from collections.abc import Mapping
from datetime import timedelta

from torpor_wire import canonical, constants, secret_ref, times, trigger, typed_json
from torpor_wire.reason import Reason

from torpor import sealing
from torpor.deferral import Deferral, DeferralError, Timeout
from torpor.errors import RejectedError
from torpor.runtime import json_text
from torpor.runtime.suspension import DeferralContext, Suspension


def prepare(deferral: Deferral, place: DeferralContext) -> Suspension:
    """Return a deferral ready to be stored. Raises DeferralError or RejectedError."""
    if deferral.then and "event" in deferral.state:
        raise DeferralError("the state must not contain `event`: the trigger passes it")
    timeout = _seconds(deferral.timeout)
    if deferral.on_timeout is not None and timeout is None:
        raise DeferralError("on_timeout= requires timeout=")
    waiting = _trigger(deferral.trigger, place)
    state = json_text.text(
        dict(deferral.state),
        constants.NEXT_MAX,
        Reason.DEFERRAL_INVALID,
        "the state of the deferral",
        write=typed_json.text,
    )
    return Suspension(waiting, deferral.then, state, timeout, deferral.on_timeout, deferral.timeout_is_final)


def _trigger(given: object, place: DeferralContext) -> trigger.DeferredTrigger:
    class_name, kwargs = _serialized(given)
    try:
        encoded = typed_json.encode(kwargs)
        _check_references(class_name, encoded)
        deferred = trigger.build(
            class_name,
            sealing.seal_kwargs(class_name, encoded, place.seal_key, place.namespace),
            namespace=place.namespace,
            pool=place.pool,
            now=place.now,
            account=place.account,
            taskrun=place.taskrun,
        )
        words = getattr(given, "waits_for", None)
        return deferred._replace(waits_for=trigger.in_one_line(words)) if isinstance(words, str) and words else deferred
    except canonical.NotJsonError as error:
        message = f"the kwargs of trigger {class_name} are not JSON: {error}"
        raise RejectedError(Reason.DEFERRAL_INVALID, message) from error
    except sealing.SealError as error:
        raise RejectedError(Reason.DEFERRAL_INVALID, f"trigger {class_name}: {error}") from error
    except trigger.TriggerError as error:
        raise RejectedError(Reason.DEFERRAL_INVALID, str(error)) from error


def _check_references(class_name: str, encoded: Mapping[str, canonical.Json]) -> None:
    """Reject a reference to a Secret that is not a SecretRef: it may come from the response of a server."""
    try:
        secret_ref.references(encoded)
    except ValueError as error:
        raise RejectedError(Reason.DEFERRAL_INVALID, f"trigger {class_name}: {error}") from error


def _serialized(given: object) -> tuple[str, Mapping[str, canonical.Json]]:
    serialize = getattr(given, "serialize", None)
    if serialize is None or isinstance(given, type):
        kind = f"the class {given.__name__}" if isinstance(given, type) else f"an object of type {type(given).__name__}"
        raise DeferralError(f"{kind} is not a trigger: pass an instance with serialize(), as in torpor.triggers")
    match serialize():
        case (str() as class_name, Mapping() as kwargs):
            return class_name, kwargs
        case other:
            raise DeferralError(f"{type(given).__name__}.serialize() returned {other!r:.200}, not (name, kwargs)")


def _seconds(timeout: Timeout) -> float | None:
    match timeout:
        case None:
            return None
        case timedelta():
            seconds = timeout.total_seconds()
        case str():
            try:
                seconds = times.seconds(timeout)
            except ValueError as error:
                raise DeferralError(f"timeout: {error}") from error
        case bool() | _ if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise DeferralError(f"timeout must be a timedelta, seconds or text such as 6h, not {timeout!r:.100}")
        case _:
            seconds = float(timeout)
    if not math.isfinite(seconds) or seconds < 0:
        raise DeferralError(f"timeout is {seconds} seconds; it must be finite and not negative")
    return seconds
