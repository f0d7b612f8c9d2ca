"""`torpor suspend`, `resume`, `stop`, `cancel` and `delete`."""

import click
from torpor_client.changes import control

from torpor_cli import errors, output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.errors import ExitCode
from torpor_cli.following import deletion
from torpor_cli.options import ClusterCommand, complete_open_run, complete_run
from torpor_cli.output import Format, output_option
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_run)
_OPEN_NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_open_run)
_OUTPUT = output_option(Format.JSON, Format.YAML, Format.NAME)


@click.command("suspend", cls=ClusterCommand)
@_OPEN_NAMES
@_OUTPUT
@click.pass_obj
def suspend_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """Start no further tasks of a run. Running tasks and waits go on."""
    _each(target, names, output_format, "suspend", "suspended")


@click.command("resume", cls=ClusterCommand)
@_OPEN_NAMES
@_OUTPUT
@click.pass_obj
def resume_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """Continue a suspended run. `torpor retry` continues a run that was stopped or cancelled."""
    _each(target, names, output_format, "resume", "resumed")


@click.command("stop", cls=ClusterCommand)
@_OPEN_NAMES
@_OUTPUT
@click.pass_obj
def stop_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """End a run: cancel its tasks and waits, then run its hooks. It ends as Cancelled."""
    _each(target, names, output_format, "stop", "stops")


@click.command("cancel", cls=ClusterCommand)
@_OPEN_NAMES
@_OUTPUT
@click.pass_obj
def cancel_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """End a run: cancel its tasks and waits, without hooks. It ends as Cancelled."""
    _each(target, names, output_format, "cancel", "is cancelled")


@click.command("delete", cls=ClusterCommand)
@_NAMES
@click.option(
    "--wait",
    "waits",
    metavar="true|false",
    type=bool,
    default=True,
    help="Wait until the runs are gone, as kubectl does; --wait=false returns at once.",
)
@click.option(
    "--timeout",
    metavar="DURATION",
    help="Maximum time to wait, such as 30s; exit code 5 afterwards. By default no limit.",
)
@click.pass_obj
def delete_command(target: TargetOptions, names: tuple[str, ...], waits: bool, timeout: str | None) -> int:
    """Delete runs with their TaskRuns and pods. A run that goes on is cancelled first.

    The command returns when the runs are gone. The archive keeps its copy of a run that had ended. It has none of a
    run that goes on.
    """
    limit, cluster = parse_limit(timeout), connect(target)
    workflows = _workflows(cluster, names, "delete")
    for workflow in workflows:
        metadata = workflow["metadata"]
        cluster.api.delete(WORKFLOWS, metadata["namespace"], metadata["name"], uid=metadata["uid"])
    if waits:
        return deletion.wait(cluster, workflows, limit)
    for workflow in workflows:
        output.line(deletion.begun(workflow))
    return ExitCode.SUCCEEDED


def _each(target: TargetOptions, names: tuple[str, ...], output_format: str, verb: str, done: str) -> None:
    cluster = connect(target)
    workflows = _workflows(cluster, names, verb)
    changed = [_set(cluster, workflow, verb) for workflow in workflows]
    output.changed_objects(changed, output_format, done)


def _workflows(cluster: ClusterConnection, names: tuple[str, ...], verb: str) -> list[Object]:
    """Return the runs. All are checked before the first is changed. Raises CliError."""
    try:
        workflows = [run_lookup.find_workflow_to_change(cluster, name) for name in dict.fromkeys(names)]
        if verb != "delete":
            for workflow in workflows:
                control.check(workflow, verb)
    except errors.CliError as error:
        if len(names) == 1:
            raise
        raise errors.CliError(f"{error}; nothing was changed") from error
    return workflows


def _set(cluster: ClusterConnection, workflow: Object, verb: str) -> Object:
    if control.is_done(workflow, verb):
        return workflow
    wanted = control.VERBS[verb]
    return edit.set_spec(cluster.api, workflow, {wanted.field: wanted.value})
