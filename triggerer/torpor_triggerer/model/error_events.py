"""Events that report an error: how to recognize them, and how to shorten one that is too large. Pure.

Airflow's triggers report a failed job by an event such as `{"status": "error", "message": ...}`, often with a whole
log. Rejecting such an event for its size would hide why the job failed.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from torpor_wire import constants, transitions, typed_json

_ERROR_WORDS = frozenset(
    {"error", "failed", "failure", "fail", "fatal", "timeout", "timed_out", "cancelled", "canceled"}
)
_STATE_FIELDS = ("status", "state")
_ERROR_FIELDS = ("error", "error_message", "exception")
_MESSAGE_FIELDS = ("message", *_ERROR_FIELDS)
_LIMITS = (1024, 512, 256, 128, 64)
_ITEMS_MAX = 20
_TRIMMED, _LEAST = 16 * 1024, 256


def is_error(payload: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether an event reports a failure."""
    if not isinstance(payload, Mapping):
        return False
    if any(str(payload[name]).lower() in _ERROR_WORDS for name in _STATE_FIELDS if isinstance(payload.get(name), str)):
        return True
    return payload.get("success") is False or any(payload.get(name) for name in _ERROR_FIELDS)


def trimmed(payload: Mapping[str, Any]) -> str:
    """Return the JSON text of an event that is too large for the archive, its texts cut to 16 kB.

    The cut is in the middle of a text, which `shortened` removes.
    """
    plain = typed_json.readable(typed_json.encode(payload))
    text = typed_json.text(_cut(plain, _TRIMMED))
    return text if len(text.encode()) <= constants.EVENT_STORED_MAX else _least(plain, _TRIMMED)


def shortened(payload: Mapping[str, Any]) -> str:
    """Return the event's JSON text within its limit: long texts lose their middle, long lists their end.

    The field `truncated` marks it. If that is not enough, only the state and the message remain.
    """
    plain = typed_json.readable(typed_json.encode(payload))
    for limit in _LIMITS:
        text = typed_json.text({**_cut(plain, limit), "truncated": True})
        if len(text.encode()) <= constants.EVENT_MAX:
            return text
    return _least(plain, _LEAST)


def _least(plain: Mapping[str, Any], limit: int) -> str:
    """The state and the message."""
    state = next((plain[name] for name in _STATE_FIELDS if isinstance(plain.get(name), str)), "error")
    message = next((plain[name] for name in _MESSAGE_FIELDS if plain.get(name)), plain)
    text = message if isinstance(message, str) else typed_json.text(message)
    return typed_json.text(
        {"status": transitions.shorten(state, 64), "message": transitions.shorten(text, limit), "truncated": True}
    )


def _cut(value: Any, limit: int) -> Any:
    match value:
        case str():
            return transitions.shorten(value, limit)
        case dict():
            return {name: _cut(item, limit) for name, item in value.items()}
        case list():
            return [_cut(item, limit) for item in value[:_ITEMS_MAX]]
        case _:
            return value
