"""`torpor wait`."""

import click
from torpor_wire import times

from torpor_cli import errors
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.following import waiting
from torpor_cli.following.waiting import Goal
from torpor_cli.options import ClusterCommand, complete_run
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions


@click.command("wait", cls=ClusterCommand)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--for",
    "goal",
    type=click.Choice([str(goal) for goal in Goal]),
    default=str(Goal.END),
    show_default=True,
    help="State to wait for; end is any end.",
)
@click.option("--timeout", metavar="DURATION", help="Maximum time to wait, such as 30s or 2h; exit code 5 afterwards.")
@click.pass_obj
def wait_command(target: TargetOptions, names: tuple[str, ...], goal: str, timeout: str | None) -> int:
    """Wait for the end of runs, or for another state. The exit code tells how they ended."""
    limit, cluster = parse_limit(timeout), connect(target)
    workflows = [_find(cluster, name) for name in dict.fromkeys(names)]
    return waiting.wait(cluster, workflows, Goal(goal), limit)


def parse_limit(timeout: str | None) -> float | None:
    """Return a `--timeout` in seconds. Raises UsageError."""
    try:
        return None if timeout is None else times.seconds(timeout)
    except ValueError as error:
        raise errors.UsageError(f"--timeout: {error}") from error


def _find(cluster: ClusterConnection, name: str) -> Object:
    """Return a run. An archived one has ended, which the wait finds in its copy."""
    return run_lookup.find_run_without_taskruns(cluster, name).workflow
