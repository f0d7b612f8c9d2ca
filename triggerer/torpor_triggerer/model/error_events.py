"""Events that report an error: how they are recognized, and how one that is too large is shortened.

Airflow's triggers report a failed job by an event such as `{"status": "error", "message": ...}`, often with a whole log
in it. To refuse it for its size would hide the reason why the job failed. Pure.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from torpor_wire import constants, transitions, typed_json

_WORDS = frozenset({"error", "failed", "failure", "fail", "fatal", "timeout", "timed_out", "cancelled", "canceled"})
_STATES = ("status", "state")
_TELLING = ("error", "error_message", "exception")
_MESSAGES = ("message", *_TELLING)
_LIMITS = (1024, 512, 256, 128, 64)
_ITEMS_MAX = 20
_TRIMMED, _LEAST = 16 * 1024, 256


def is_error(payload: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether an event says that what it waited for has failed."""
    if not isinstance(payload, Mapping):
        return False
    if any(str(payload[name]).lower() in _WORDS for name in _STATES if isinstance(payload.get(name), str)):
        return True
    return payload.get("success") is False or any(payload.get(name) for name in _TELLING)


def trimmed(payload: Mapping[str, Any]) -> str:
    """The JSON text of an event that even the archive would not take, its texts cut to 16 kB.

    What is cut in two here stands in the middle of a text, which `shortened` leaves out.
    """
    plain = typed_json.readable(typed_json.encode(payload))
    text = typed_json.text(_cut(plain, _TRIMMED))
    return text if len(text.encode()) <= constants.EVENT_STORED_MAX else _least(plain, _TRIMMED)


def shortened(payload: Mapping[str, Any]) -> str:
    """The event's JSON text within its limit: long texts without their middle, long lists without their end.

    `truncated` says so. Where that is not enough, its state and its message are left.
    """
    plain = typed_json.readable(typed_json.encode(payload))
    for limit in _LIMITS:
        text = typed_json.text({**_cut(plain, limit), "truncated": True})
        if len(text.encode()) <= constants.EVENT_MAX:
            return text
    return _least(plain, _LEAST)


def _least(plain: Mapping[str, Any], limit: int) -> str:
    """Its state and its message."""
    state = next((plain[name] for name in _STATES if isinstance(plain.get(name), str)), "error")
    message = next((plain[name] for name in _MESSAGES if plain.get(name)), plain)
    said = message if isinstance(message, str) else typed_json.text(message)
    return typed_json.text(
        {"status": transitions.shorten(state, 64), "message": transitions.shorten(said, limit), "truncated": True}
    )


def _cut(value: Any, limit: int) -> Any:
    match value:
        case str():
            return transitions.shorten(value, limit)
        case dict():
            return {name: _cut(one, limit) for name, one in value.items()}
        case list():
            return [_cut(one, limit) for one in value[:_ITEMS_MAX]]
        case _:
            return value
