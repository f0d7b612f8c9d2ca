"""`torpor schedule run`."""

import uuid

import click
from torpor_client.changes import schedule_changes

from torpor_cli.changes import manual_run, run_params, submission
from torpor_cli.changes.submission import FollowUp
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import SCHEDULES
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.commands.view.logs import follow_logs
from torpor_cli.options import ClusterCommand, complete_schedule, request_options
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions


@click.command("run", cls=ClusterCommand)
@click.argument("name", metavar="NAME", shell_complete=complete_schedule)
@request_options
@click.pass_obj
def run_command(
    target: TargetOptions,
    /,
    name: str,
    pairs: tuple[str, ...],
    params_file: str | None,
    wait: bool,
    watch: bool,
    logs: bool,
    timeout: str | None,
    output_format: str,
) -> int:
    """Start a run of a Schedule now, and print its name.

    The operator creates it with the params of the Schedule, even if the Schedule is paused or other runs are active.
    """
    afterwards = FollowUp(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(1)
    cluster = connect(target)
    schedule = lookup.find(cluster, SCHEDULES, name)
    values = run_params.given_for_schedule(cluster, schedule, pairs, params_file)
    text = schedule_changes.value(uuid.uuid4().hex, values)
    run = manual_run.created_run(cluster, manual_run.request(cluster, schedule, text), text)
    submission.announce(run, output_format)
    return submission.follow_up(cluster, [run], afterwards, follow_logs)
