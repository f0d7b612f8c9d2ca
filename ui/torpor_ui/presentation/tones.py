"""How a state looks: one of eight tones, which the page maps to color, icon and pattern. Pure."""

from collections.abc import Mapping

from torpor_views.instance import InstanceView
from torpor_wire.state import State

_TONES: Mapping[str, str] = {
    "Succeeded": "ok",
    "Running": "run",
    "Finishing": "run",
    "Deferred": "wait",
    "Suspended": "wait",
    "Scheduled": "queue",
    "Pending": "queue",
    "UpForRetry": "warn",
    "Cancelling": "warn",
    "Failed": "bad",
    "UpstreamFailed": "bad",
    "Skipped": "skip",
    "Removed": "skip",
    "Cancelled": "skip",
}


def of_word(word: str) -> str:
    """Return the tone of the state of a run, a task or an instance; `idle` for one that is not known."""
    return _TONES.get(word, "idle")


def of_instance(view: InstanceView) -> str:
    """Return the tone of an instance. One that does not go on by itself is a warning."""
    return "warn" if view.stuck and view.state is not State.RUNNING else of_word(view.word)
