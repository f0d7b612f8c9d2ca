"""`torpor mark`."""

import time

import click
from torpor_client.changes import marks, requests
from torpor_client.runs import references
from torpor_views.model import RunView

from torpor_cli.changes import clearing
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions


@click.command("mark", cls=ClusterCommand)
@click.argument("reference", metavar="NAME/TASK[/INDEX]", shell_complete=complete_reference)
@click.argument("state", type=click.Choice(marks.STATES))
@click.option("--because", required=True, metavar="TEXT", help="Why; the history of the run keeps it with your name.")
@click.option("--result", "result", metavar="JSON", help="Result of an instance that is marked as succeeded.")
@click.pass_obj
def mark_command(target: TargetOptions, reference: str, state: str, because: str, result: str | None) -> None:
    """End an instance as succeeded, skipped or failed, without running it.

    A pod or a wait of the instance is ended first. An instance that has ended gets the new state, and what depends on
    it runs again. Without an index, all existing instances of a mapped task are marked.
    """
    wanted = references.parse(reference)
    because = marks.check(wanted, state, because, result)
    cluster = connect(target)
    workflow = run_lookup.find_workflow_to_change(cluster, wanted.run)
    requests.check_not_cancelled(workflow, "mark")
    requests.check_no_request(workflow, "request for", requests.MARK, requests.CLEAR)
    run = RunView.parse(workflow, run_lookup.taskruns_of(cluster, workflow), now=time.time())
    answer = clearing.mark(cluster, workflow, marks.request(run, wanted, state, because, result), result)
    clearing.report(answer, run.name, accepted=f"{reference} is marked as {state}", refused="the mark")
