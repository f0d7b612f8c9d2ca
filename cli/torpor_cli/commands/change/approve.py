"""`torpor approve` and `torpor reject`: the answer of a person to a task that waits for it."""

from collections.abc import Callable
from dataclasses import replace

import click
from torpor_client.changes import approvals, operations
from torpor_client.runs import references
from torpor_client.runs.references import RunReference

from torpor_cli import errors, output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.errors import NotFoundError
from torpor_cli.cluster.resources import TASKRUNS
from torpor_cli.options import ClusterCommand, complete_open_reference
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_NAME = click.argument("name", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_open_reference)
_NOTE = click.option("--note", metavar="TEXT", help="A sentence that the run receives, up to 1,024 characters.")


@click.command("approve", cls=ClusterCommand)
@_NAME
@_NOTE
@click.option(
    "--field", "fields", multiple=True, metavar="NAME=VALUE", help="The value of a field of the form. Repeatable."
)
@click.option("--option", "options", multiple=True, metavar="TEXT", help="A chosen option of the form. Repeatable.")
@click.pass_obj
def approve_command(
    target: TargetOptions, name: str, note: str | None, fields: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """Approve a task that waits for an approval. The task may be omitted if only one of the run waits."""
    _answer(target, name, "approved", note, lambda taskrun: approvals.answers(taskrun, fields, options))


@click.command("reject", cls=ClusterCommand)
@_NAME
@_NOTE
@click.pass_obj
def reject_command(target: TargetOptions, name: str, note: str | None) -> None:
    """Reject a task that waits for an approval. Its Workflow decides what follows."""
    _answer(target, name, "rejected", note)


def _answer(
    target: TargetOptions,
    name: str,
    word: str,
    note: str | None,
    answers: Callable[[Object], str | None] = lambda _: None,
) -> None:
    approvals.check_note(note)
    cluster = connect(target)
    reference = references.parse(name)
    if reference.run == references.LATEST:
        reference = replace(reference, run=run_lookup.find_workflow(cluster, references.LATEST)["metadata"]["name"])
    taskrun = _waiting(cluster, reference)
    written = approvals.annotations(taskrun, word, edit.user_name(cluster.api), note, answers(taskrun))
    edit.change(cluster.api, TASKRUNS, taskrun, lambda current: operations.annotate(current, written))
    output.line(f"{word}: {output.object_name(taskrun)}, which waits for {approvals.question(taskrun)}")


def _waiting(cluster: ClusterConnection, reference: RunReference) -> Object:
    """Return the TaskRun that a reference names. Needs no right to read Workflows."""
    taskruns = _taskruns(cluster, reference)
    if reference.task is not None:
        taskruns = [item for item in taskruns if item["spec"].get("task") == reference.task]
    if reference.path is not None:
        taskruns = [item for item in taskruns if references.path_of(item) == reference.path]
    asking = [item for item in taskruns if approvals.asks(item)]
    if len(asking) == 1:
        return asking[0]
    if len(asking) > 1:
        which = ", ".join(f"{reference.run}/{references.ref_of(item)}" for item in asking[:10])
        raise errors.UsageError(f"{len(asking)} tasks wait for an approval; name one: {which}")
    if len(taskruns) == 1:
        state = (taskruns[0].get("status") or {}).get("state")
        raise errors.CliError(f"{references.ref_of(taskruns[0])} does not wait for an approval: it is {state}")
    raise errors.CliError(f"no task of {reference.run} waits for an approval; `torpor get {reference.run}` shows it")


def _taskruns(cluster: ClusterConnection, reference: RunReference) -> list[Object]:
    taskruns = cluster.api.list(run_lookup.selection_of_run(cluster, TASKRUNS, reference.run))
    if taskruns or reference.task is not None:
        return taskruns
    try:  # kubectl prints names of TaskRuns, so a user may name one
        return [cluster.api.get(TASKRUNS, cluster.namespace, reference.run)]
    except NotFoundError:
        everything = cluster.api.list(ObjectSelection(resource=TASKRUNS, namespace=cluster.namespace))
        known = {str((item["spec"].get("workflow") or {}).get("name")) for item in everything}
        hint = f"`torpor waits -n {cluster.namespace}` shows what tasks wait for"
        raise errors.unknown("run", reference.run, known, hint, where=f"in namespace {cluster.namespace}") from None
