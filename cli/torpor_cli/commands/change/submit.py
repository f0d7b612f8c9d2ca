"""`torpor submit`."""

from collections.abc import Sequence
from typing import Any

import click
from torpor_client.changes import new_runs, template_params
from torpor_wire.enums import TemplateKind

from torpor_cli import errors
from torpor_cli.authoring import compiled
from torpor_cli.changes import manifest, run_params, submission
from torpor_cli.changes.submission import FollowUp
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.errors import InvalidObjectError
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.commands.view.logs import follow_logs
from torpor_cli.options import ClusterCommand, complete_cluster_template, complete_template, run_options
from torpor_cli.target import TargetOptions


@click.command("submit", cls=ClusterCommand)
@click.argument("files", metavar="FILE...|MODULE:FUNCTION|-", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--template", metavar="NAME", help="WorkflowTemplate to run, instead of files.", shell_complete=complete_template
)
@click.option(
    "--cluster-template",
    metavar="NAME",
    help="ClusterWorkflowTemplate to run, instead of files.",
    shell_complete=complete_cluster_template,
)
@click.option("--name", metavar="NAME", help="Name of the run of a template.")
@click.option(
    "--generate-name", metavar="PREFIX", help="Prefix of its generated name, by default the name of the template."
)
@click.option("--python", metavar="PATH", help="Interpreter that has MODULE, by default that of $VIRTUAL_ENV.")
@run_options
@click.pass_obj
def submit_command(
    target: TargetOptions,
    /,
    files: tuple[str, ...],
    template: str | None,
    cluster_template: str | None,
    name: str | None,
    generate_name: str | None,
    python: str | None,
    pairs: tuple[str, ...],
    params_file: str | None,
    wait: bool,
    watch: bool,
    logs: bool,
    timeout: str | None,
    dry_run: str | None,
    output_format: str,
) -> int:
    """Create Workflows from files, standard input, Python functions or a template, and print their names.

    A file may have several documents. All are read before the first is created. MODULE:FUNCTION is a @workflow
    function, as for `torpor compile`.
    """
    _check(files, template, cluster_template, name, generate_name)
    read = [_read(source, python, pairs, params_file) for source in files]
    afterwards = FollowUp(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(sum(map(len, read)) or 1)
    cluster = connect(target)
    named = template if cluster_template is None else cluster_template
    if named is not None:
        metadata = {"name": name} if name else {"generateName": generate_name or f"{named}-"}
        kind = None if cluster_template is None else TemplateKind.CLUSTER
        bodies = [("", _of_template(cluster, named, kind, metadata, pairs, params_file))]
    else:
        bodies = _of_files(cluster, files, read, pairs, params_file)
    runs = []
    for source, body in bodies:
        runs.append(_create(cluster, source, body, dry_run=dry_run is not None))
        submission.announce(runs[-1], output_format, dry_run=dry_run is not None)
    return 0 if dry_run else submission.follow_up(cluster, runs, afterwards, follow_logs)


def _check(
    files: tuple[str, ...],
    template: str | None,
    cluster_template: str | None,
    name: str | None,
    generate_name: str | None,
) -> None:
    """Raise UsageError for options that exclude each other."""
    if [bool(files), template is not None, cluster_template is not None].count(True) != 1:
        raise errors.UsageError("write files, --template NAME or --cluster-template NAME; see `torpor submit --help`")
    if files and (name or generate_name):
        raise errors.UsageError("--name and --generate-name are for a template; a file has metadata.name")
    if name and generate_name:
        raise errors.UsageError("--name and --generate-name exclude each other; use one")


def _read(source: str, python: str | None, pairs: tuple[str, ...], params_file: str | None) -> list[dict[str, Any]]:
    """Return the Workflows of a file, or that of a function."""
    if not compiled.is_reference(source):
        return manifest.read(source)
    return [compiled.compile_workflow(source, python=python, pairs=pairs, values=manifest.params(params_file))]


def _of_template(
    cluster: ClusterConnection,
    name: str,
    kind: TemplateKind | None,
    metadata: dict[str, str],
    pairs: tuple[str, ...],
    params_file: str | None,
) -> dict[str, Any]:
    """Return a run of a template. Raises UsageError for params that do not fit."""
    template = run_params.find_template(cluster, name, kind)
    values = template_params.parse(pairs, manifest.params(params_file), template)
    return new_runs.of_template(template, values, metadata)


def _of_files(
    cluster: ClusterConnection,
    files: tuple[str, ...],
    read: Sequence[Sequence[dict[str, Any]]],
    pairs: tuple[str, ...],
    params_file: str | None,
) -> list[tuple[str, dict[str, Any]]]:
    """Return each Workflow with its file. Raises UsageError for params that do not fit."""
    several = sum(map(len, read)) > 1
    bodies = []
    for source, documents in zip(files, read, strict=True):
        for place, body in enumerate(documents, start=1):
            spec = body["spec"]
            try:
                values = {**(spec.get("params") or {}), **run_params.given(cluster, spec, pairs, params_file)}
            except errors.UsageError as error:
                where = f"{source}, document {place}: " if several else ""
                raise errors.UsageError(f"{where}{error}") from error
            bodies.append((source, {**body, "spec": {**spec, "params": values}} if values else body))
    return bodies


def _create(cluster: ClusterConnection, source: str, body: dict[str, Any], *, dry_run: bool) -> Object:
    """Create a Workflow. Raises CliError that names the file if the API server rejects it."""
    place = "standard input" if source == "-" else source
    try:
        return submission.create(cluster, body, dry_run=dry_run)
    except InvalidObjectError as error:
        if not source:
            raise
        check = "compile" if compiled.is_reference(source) else "lint"
        raise errors.CliError(f"{place}: {error}; `torpor {check} {source}` shows where") from error
