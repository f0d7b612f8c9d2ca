"""`torpor mark`."""

import json
import time

import click
from torpor_client.runs import references
from torpor_client.runs.instances import check_reference, instances_at
from torpor_client.runs.references import RunReference
from torpor_views.model import RunView
from torpor_wire import constants, instance_paths

from torpor_cli import errors
from torpor_cli.changes import clearing
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_STATES = ("succeeded", "skipped", "failed")


@click.command("mark", cls=ClusterCommand)
@click.argument("reference", metavar="NAME/TASK[/INDEX]", shell_complete=complete_reference)
@click.argument("state", type=click.Choice(_STATES))
@click.option("--because", required=True, metavar="TEXT", help="Why; the history of the run keeps it with your name.")
@click.option("--result", "result", metavar="JSON", help="Result of an instance that is marked as succeeded.")
@click.pass_obj
def mark_command(target: TargetOptions, reference: str, state: str, because: str, result: str | None) -> None:
    """End an instance as succeeded, skipped or failed, without running it.

    A pod or a wait of the instance is ended first. An instance that has ended gets the new state, and what depends on
    it runs again. Without an index, all existing instances of a mapped task are marked.
    """
    wanted = references.parse(reference)
    if wanted.task is None:
        raise errors.UsageError(f"name a task: torpor mark {wanted.run}/TASK {state} --because TEXT")
    because = " ".join(because.split())
    if not because:
        raise errors.UsageError("--because is empty; write why")
    _check_result(state, result)
    cluster = connect(target)
    workflow = run_lookup.find_workflow_to_change(cluster, wanted.run)
    _check(workflow)
    run = RunView.parse(workflow, run_lookup.taskruns_of(cluster, workflow), now=time.time())
    text = f"{state} {','.join(_instances(run, wanted))} because {because}"
    if len(text) + len(result or "") >= constants.CLEAR_MAX:
        raise errors.UsageError(
            f"the mark has more than {constants.CLEAR_MAX:,} characters; mark fewer instances at once"
        )
    answer = clearing.mark(cluster, workflow, text, result)
    clearing.report(answer, run.name, accepted=f"{reference} is marked as {state}", refused="the mark")


def _check_result(state: str, result: str | None) -> None:
    if result is None:
        return
    if state != "succeeded":
        raise errors.UsageError("--result is for succeeded; other states have no result")
    try:
        json.loads(result)
    except (ValueError, RecursionError) as error:
        raise errors.UsageError(f"--result {result[:80]}: this is not JSON: {str(error)[:200]}") from None


def _check(workflow: Object) -> None:
    clearing.check_not_cancelled(workflow, "mark")
    name = workflow["metadata"]["name"]
    if {constants.MARK, constants.CLEAR} & (workflow["metadata"].get("annotations") or {}).keys():
        raise errors.CliError(f"an earlier request for {name} is in progress; try again in a moment")


def _instances(run: RunView, wanted: RunReference) -> list[str]:
    """Return the instances as the annotation names them. Raises CliError if a mapped task has none."""
    task = wanted.task or ""
    check_reference(wanted, run)
    known = run.task(task)
    if known is None or not known.several:
        return [task]
    paths = [f"{task}/{instance_paths.written(instance.path)}" for instance in instances_at(wanted, run)]
    if not paths:
        raise errors.CliError(f"{task} has no instances yet; mark them once they exist")
    return paths
