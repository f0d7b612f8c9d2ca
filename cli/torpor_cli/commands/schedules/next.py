"""`torpor schedule next`."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click
from torpor_client.schedules import moments, upcoming
from torpor_client.schedules.upcoming import UpcomingTick

from torpor_cli import output
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import SCHEDULES
from torpor_cli.errors import UsageError
from torpor_cli.options import ClusterCommand, complete_schedule
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions

_NUMBER = 5
_NUMBER_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _NextTicks:
    """The ticks, and what else the user should know."""

    ticks: Sequence[UpcomingTick]
    remarks: Sequence[str] = field(default_factory=tuple)


@click.command("next", cls=ClusterCommand)
@click.argument("words", metavar="[NAME] [N]", nargs=-1, shell_complete=complete_schedule)
@click.option("--cron", metavar="EXPRESSION", help="Cron expression instead of a Schedule; no cluster is needed.")
@click.option("--timezone", metavar="ZONE", help="IANA time zone of --cron, by default UTC.")
@click.option("--from", "start", metavar="TIME", help="Print the ticks after this time, by default after now.")
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def next_command(
    target: TargetOptions,
    words: tuple[str, ...],
    cron: str | None,
    timezone: str | None,
    start: str | None,
    output_format: str,
) -> None:
    """Print the next N ticks of the cron sources of a Schedule, or of a cron expression; 5 by default.

    TICK is the time in the time zone of the source, START the time in UTC at which the run starts: later by the jitter.
    """
    name, number = _arguments(words, cron)
    after = time.time() if start is None else moments.parse(start, "--from")
    if cron is not None:
        upcoming_ticks = _NextTicks(ticks=_of_expression(cron, timezone, after, number))
    elif timezone is not None:
        raise UsageError("--timezone is the zone of --cron; a Schedule has its own")
    else:
        upcoming_ticks = _of_schedule(target, name, after, number)
    _print(upcoming_ticks, output_format)


def _arguments(words: tuple[str, ...], cron: str | None) -> tuple[str, int]:
    """Return the name, which is empty with --cron, and the number of ticks. Raises UsageError."""
    name, rest = ("", words) if cron is not None else (words[0] if words else "", words[1:])
    if cron is None and not name:
        raise UsageError("write the NAME of a Schedule, or --cron EXPRESSION")
    if len(rest) > 1 or not all(word.isascii() and word.isdigit() for word in rest):
        raise UsageError(f"{' '.join(rest)!r} is not a number of ticks; write `torpor schedule next NAME 10`")
    number = int(rest[0]) if rest else _NUMBER
    if not 1 <= number <= _NUMBER_MAX:
        raise UsageError(f"{number} ticks: write 1 to {_NUMBER_MAX}")
    return name, number


def _of_expression(expression: str, timezone: str | None, after: float, number: int) -> Sequence[UpcomingTick]:
    try:
        cron = upcoming.parse_cron(expression, timezone)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return upcoming.upcoming({"": cron}, after, number, {})


def _of_schedule(target: TargetOptions, name: str, after: float, number: int) -> _NextTicks:
    cluster = connect(target)
    schedule = lookup.find(cluster, SCHEDULES, name)
    crons = upcoming.crons(schedule)
    delays = upcoming.delays(lookup.sources(cluster, schedule))
    first, end = upcoming.bounds(schedule, after)
    ticks = upcoming.upcoming(crons, first, number, delays, end)
    return _NextTicks(ticks=ticks, remarks=_remarks(schedule, delays, ticks))


def _remarks(schedule: Object, delays: Mapping[str, float], ticks: Sequence[UpcomingTick]) -> list[str]:
    spec, name = schedule["spec"], schedule["metadata"]["name"]
    remarks = []
    if spec.get("suspend"):
        remarks.append(f"{name} is suspended: these ticks start no run; `torpor schedule resume {name}`")
    if spec.get("jitter") and not delays:
        remarks.append(f"the operator has not computed the jitter yet: each run starts up to {spec['jitter']} later")
    if spec.get("allOf"):
        remarks.append(f"a run starts when each of {', '.join(spec['allOf'])} has had an event")
    if not ticks:
        remarks.append(f"no tick before notAfter, {moments.shown(spec.get('notAfter'))}")
    return remarks


def _print(upcoming_ticks: _NextTicks, output_format: str) -> None:
    if output_format != Format.TEXT:
        output.data([tick.as_json() for tick in upcoming_ticks.ticks], output_format)
    elif upcoming_ticks.ticks:
        named = bool(upcoming_ticks.ticks[0].source)
        first = 0 if named else 1
        output.print_table(
            ["SOURCE", "TICK", "ZONE", "START"][first:], [tick.row()[first:] for tick in upcoming_ticks.ticks]
        )
    for remark in upcoming_ticks.remarks:
        output.note(remark)
