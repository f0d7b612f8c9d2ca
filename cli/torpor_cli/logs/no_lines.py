"""Explains why there are no lines to show. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_views.model import InstanceView, RunView
from torpor_wire.state import State

from torpor_cli import errors
from torpor_cli.logs.selection import Filter, LogSelection


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedLogs:
    """What a user names, without further filters: its logs, its pods that have not started, its instances."""

    found: LogSelection
    not_started: int
    instances: Sequence[InstanceView]
    archive_read: bool = True


def explained(run: RunView, chosen: Filter, logs: SelectedLogs, options: Sequence[str]) -> str:
    """Return a sentence. Raises UnknownNameError for an attempt that did not take place.

    `options`: the filters as the user wrote them.
    """
    named = f"{run.name}/{chosen.task}" if chosen.task else run.name
    there = bool(logs.found.sources or logs.found.missing)
    if there and options:
        _check_attempt(chosen, named, logs.instances)
        return f"no line of {named} matches {' '.join(options)}"
    if run.ended or bool(chosen.task and logs.instances and all(one.ended for one in logs.instances)):
        return f"the log of {named} is empty" if there else _none(named, logs)
    if logs.not_started:
        pods = "1 pod has" if logs.not_started == 1 else f"{logs.not_started} pods have"
        return f"there is no log yet: {pods} not started; `torpor why {named}` explains why"
    if there:
        return f"the log of {named} is empty; `torpor why {named}` explains what the tasks wait for"
    if any(one.state is State.DEFERRED for one in logs.instances):
        return f"there is no log yet: the archive keeps the lines of a wait when it ends; see `torpor why {named}`"
    return f"there is no log yet; `torpor why {named}` explains what the tasks wait for"


def _none(named: str, logs: SelectedLogs) -> str:
    """The archive may have a log that was not read."""
    return (
        f"there is no log of {named}"
        if logs.archive_read
        else f"no pod of {named} exists, and the archive was not read"
    )


def _check_attempt(chosen: Filter, named: str, instances: Sequence[InstanceView]) -> None:
    most = max((one.attempt for one in instances), default=0)
    if chosen.attempt is not None and chosen.attempt > most:
        attempts = "1 attempt" if most == 1 else f"{most} attempts"
        raise errors.UnknownNameError(f"{named} has no attempt {chosen.attempt}; it had {attempts} so far")
