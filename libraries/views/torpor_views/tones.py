"""The tone of a state, which a terminal maps to a colour, and the page to colour, icon and pattern. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from torpor_wire.state import State

from torpor_views.instance import InstanceView


class Tone(StrEnum):
    """How a state looks."""

    OK = "ok"
    """Ended well."""
    RUN = "run"
    """In a pod."""
    WAIT = "wait"
    """Deferred: without a pod."""
    QUEUE = "queue"
    """Waits for its turn."""
    WARN = "warn"
    """Ended by a user, tried again, or held up by something that a person may have to change."""
    BAD = "bad"
    """Failed."""
    SKIP = "skip"
    """Did not have to run."""
    IDLE = "idle"
    """Not known to this version."""


_TONES: Mapping[str, Tone] = {
    "Succeeded": Tone.OK,
    "Running": Tone.RUN,
    "Finishing": Tone.RUN,
    "Deferred": Tone.WAIT,
    "Scheduled": Tone.QUEUE,
    "Pending": Tone.QUEUE,
    "UpForRetry": Tone.WARN,
    "Suspended": Tone.WARN,
    "Cancelling": Tone.WARN,
    "Cancelled": Tone.WARN,
    "Failed": Tone.BAD,
    "UpstreamFailed": Tone.BAD,
    "Skipped": Tone.SKIP,
    "Removed": Tone.SKIP,
}


def of_word(word: str) -> Tone:
    """Return the tone of the state of a run, a task or an instance, as written."""
    return _TONES.get(word, Tone.IDLE)


def of_instance(instance: InstanceView) -> Tone:
    """Return the tone of an instance. One whose reason keeps it from going on is a warning."""
    return Tone.WARN if instance.stuck and instance.state is not State.RUNNING else of_word(instance.word)
