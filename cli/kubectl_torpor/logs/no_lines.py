"""Explains why there are no lines to show. Pure."""

from collections.abc import Sequence

from torpor_views.model import Instance, Run
from torpor_wire.state import State

from kubectl_torpor import errors
from kubectl_torpor.logs.selection import Filter, Selection


def explained(
    everything: Selection, chosen: Filter, run: Run, instances: Sequence[Instance], options: Sequence[str]
) -> str:
    """Return a sentence. Raises UnknownNameError for an attempt that did not take place.

    `everything`: the logs of what the user names, without further filters. `instances`: its instances. `options`: the
    filters as the user wrote them.
    """
    named = f"{run.name}/{chosen.task}" if chosen.task else run.name
    there = bool(everything.sources or everything.missing)
    if there and options:
        _check_attempt(chosen, named, instances)
        return f"no line of {named} matches {' '.join(options)}"
    waits = any(one.state is State.DEFERRED for one in instances)
    ended = run.ended or bool(chosen.task and instances and all(one.ended for one in instances))
    what = (
        f"the log of {named} is empty" if there else f"there is no log of {named}" if ended else "there is no log yet"
    )
    if ended:
        return what
    if waits and not there:
        return f"{what}: the archive keeps the lines of a wait when it ends; see `torpor why {named}`"
    return f"{what}; `torpor why {named}` explains what the tasks wait for"


def _check_attempt(chosen: Filter, named: str, instances: Sequence[Instance]) -> None:
    most = max((one.attempt for one in instances), default=0)
    if chosen.attempt is not None and chosen.attempt > most:
        attempts = "1 attempt" if most == 1 else f"{most} attempts"
        raise errors.UnknownNameError(f"{named} has no attempt {chosen.attempt}; it had {attempts} so far")
