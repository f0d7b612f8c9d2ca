"""`torpor retry`."""

import sys
import time

import click
from torpor_client.changes import clear_preview, requests
from torpor_views.model import RunView

from torpor_cli import errors, output
from torpor_cli.changes import clearing
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand, complete_run, complete_task
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions


@click.command("retry", cls=ClusterCommand)
@click.argument("name", metavar="NAME|@latest", shell_complete=complete_run)
@click.argument("tasks", metavar="[TASK[/INDEX]]...", nargs=-1, shell_complete=complete_task)
@click.option("--failed", is_flag=True, help="Everything that failed, was cancelled or deleted; the default.")
@click.option("--dry-run", is_flag=True, help="Show what would run again, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def retry_command(
    target: TargetOptions, /, name: str, tasks: tuple[str, ...], failed: bool, dry_run: bool, yes: bool
) -> None:
    """Run tasks of a run again, with everything that depends on them.

    Without tasks, everything that failed runs again. A run that was stopped or cancelled continues.
    """
    if failed and tasks:
        raise errors.UsageError("--failed and tasks exclude each other; use one")
    cluster = connect(target)
    workflow = run_lookup.find_workflow_to_change(cluster, name)
    _check(workflow)
    run = RunView.parse(workflow, run_lookup.taskruns_of(cluster, workflow), now=time.time())
    text = clear_preview.request(run, tasks)
    _show(clear_preview.preview(run, text))
    if dry_run:
        output.note("nothing was changed (dry run)")
        return
    _confirm(run.name, yes=yes)
    accepted = f"{output.object_name(workflow)} runs these tasks again"
    clearing.report(clearing.clear(cluster, workflow, text), run.name, accepted=accepted, refused="to run them again")


def _check(workflow: Object) -> None:
    requests.check_not_cancelled(workflow, "retry it")
    requests.check_no_request(workflow, "retry of", requests.CLEAR)


def _show(cleared: tuple[clear_preview.PreviewedTask, ...]) -> None:
    output.line("Runs again:")
    for task in cleared:
        output.line(f"  {task.text()}")
    output.flush()


def _confirm(name: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise errors.UsageError("standard input is not a terminal, so torpor cannot ask; add -y")
    if not click.confirm(f"Run these tasks of {name} again?", err=True):
        raise errors.CliError("nothing was changed")
