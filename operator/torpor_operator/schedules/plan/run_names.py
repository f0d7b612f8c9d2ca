"""The keys of the events that start runs. `torpor_wire.names.run` derives the name of a run from its key. Pure.

A key identifies one event of one Schedule, so that two writers that start a run for the same event create the same
object. A Schedule that was deleted and created again has another uid, and therefore other keys.
"""

from collections.abc import Iterable

from torpor_wire import times


def tick_key(uid: str, source: str, tick: float) -> str:
    """The key of a tick of a cron source, in seconds since the epoch. A Schedule and its Backfills share it."""
    return f"{uid}/{source}/{times.rfc3339(tick)}"


def rerun_key(uid: str, source: str, tick: float, backfill_uid: str) -> str:
    """The key of the further run that a Backfill creates for a tick that already has a run."""
    return f"{tick_key(uid, source, tick)}/{backfill_uid}"


def event_key(uid: str, source: str, taskrun_uid: str, attempt: int, segment: int) -> str:
    """The key of an event of a source that is a trigger: the TaskRun and the position at which it fired."""
    return f"{uid}/{source}/{taskrun_uid}/{attempt}/{segment}"


def join_key(uid: str, keys: Iterable[str]) -> str:
    """The key of the events that `allOf` joins. Their order does not matter."""
    return f"{uid}/allOf/{','.join(sorted(keys))}"
