"""`torpor resubmit`."""

import click
from torpor_client.changes import new_runs

from torpor_cli.changes import run_params, submission
from torpor_cli.changes.submission import FollowUp
from torpor_cli.cluster.connect import connect
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.commands.view.logs import follow_logs
from torpor_cli.options import ClusterCommand, complete_run, run_options
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions


@click.command("resubmit", cls=ClusterCommand)
@click.argument("name", metavar="NAME|@latest", shell_complete=complete_run)
@run_options
@click.pass_obj
def resubmit_command(
    target: TargetOptions,
    /,
    name: str,
    pairs: tuple[str, ...],
    params_file: str | None,
    wait: bool,
    watch: bool,
    logs: bool,
    timeout: str | None,
    dry_run: str | None,
    output_format: str,
) -> int:
    """Create a new run with the spec of an earlier one, from the cluster or the archive."""
    afterwards = FollowUp(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(1)
    cluster = connect(target)
    earlier = run_lookup.find_run_without_taskruns(cluster, name).workflow
    values = run_params.of_earlier(cluster, earlier)
    values |= run_params.given(cluster, earlier["spec"], pairs, params_file)
    body = new_runs.copy_of(earlier, values)
    run = submission.create(cluster, body, dry_run=dry_run is not None)
    submission.announce(run, output_format, dry_run=dry_run is not None)
    return 0 if dry_run else submission.follow_up(cluster, [run], afterwards, follow_logs)
