"""`torpor submit`."""

from typing import Any

import click

from kubectl_torpor import errors
from kubectl_torpor.changes import manifest, params, submission
from kubectl_torpor.changes.submission import Afterwards
from kubectl_torpor.cluster.api import Object
from kubectl_torpor.cluster.connect import Cluster, connect
from kubectl_torpor.cluster.errors import RejectedError
from kubectl_torpor.commands.logs import follow_logs
from kubectl_torpor.commands.run_options import run_options
from kubectl_torpor.commands.wait import parse_limit
from kubectl_torpor.target import ClusterCommand, Target


@click.command("submit", cls=ClusterCommand)
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True, type=click.Path(allow_dash=True))
@run_options
@click.pass_obj
def submit_command(
    target: Target,
    /,
    files: tuple[str, ...],
    pairs: tuple[str, ...],
    params_file: str | None,
    wait: bool,
    watch: bool,
    logs: bool,
    timeout: str | None,
    dry_run: str | None,
    output_format: str,
) -> int:
    """Create Workflows from files or standard input, and print their names.

    A file may have several documents. All are read before the first is created.
    """
    read = [manifest.read(source) for source in files]
    several = sum(map(len, read)) > 1
    bodies = [
        (source, _with_params(body, pairs, params_file, where=f"{source}, document {place}: " if several else ""))
        for source, documents in zip(files, read, strict=True)
        for place, body in enumerate(documents, start=1)
    ]
    afterwards = Afterwards(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(len(bodies))
    cluster = connect(target)
    made = []
    for source, body in bodies:
        made.append(_create(cluster, source, body, dry_run=dry_run is not None))
        submission.announce(made[-1], output_format, dry_run=dry_run is not None)
    return 0 if dry_run else submission.follow_up(cluster, made, afterwards, follow_logs)


def _create(cluster: Cluster, source: str, body: dict[str, Any], *, dry_run: bool) -> Object:
    """Create a Workflow. Raises CliError that names the file if the API server rejects it."""
    place = "standard input" if source == "-" else source
    try:
        return submission.create(cluster, body, dry_run=dry_run)
    except RejectedError as error:
        raise errors.CliError(f"{place}: {error}; `torpor lint {source}` shows where") from error


def _with_params(
    body: dict[str, Any], pairs: tuple[str, ...], params_file: str | None, *, where: str
) -> dict[str, Any]:
    """Return the Workflow with values of params. Raises UsageError, which `where` begins."""
    declared = body["spec"].get("params") or {}
    given = manifest.mapping(params_file) if params_file else {}
    try:
        params.check_names(given, declared)
        values = {**declared, **given, **params.parse(pairs, declared)}
    except errors.UsageError as error:
        raise errors.UsageError(f"{where}{error}") from error
    return {**body, "spec": {**body["spec"], "params": values}} if values else body
