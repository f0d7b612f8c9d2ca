"""`torpor files`."""

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from torpor_client.errors import UserError
from torpor_client.runs import file_content, references, run_files
from torpor_client.runs.references import RunReference
from torpor_client.runs.run_files import RunFile
from torpor_wire.text import printable

from torpor_cli import output
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.errors import CliError, UsageError
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.output import Format, output_option
from torpor_cli.runs.run_lookup import find_run
from torpor_cli.target import TargetOptions

_HEAD = ("INSTANCE", "FILE", "KIND", "SIZE", "SHA256", "READ-BY")
_DIGITS = 12


@click.command("files", cls=ClusterCommand)
@click.argument("reference", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_reference)
@click.argument("file", required=False)
@click.option("-d", "--to", "folder", metavar="FOLDER", default=".", help="Write FILE into this folder.")
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def files_command(target: TargetOptions, reference: str, file: str | None, folder: str, output_format: str) -> None:
    """List the files that the tasks of a run have stored, or fetch FILE.

    READ-BY names the instances that have the file as an input. A folder is unpacked. Of a mapped task, each fetched
    file has its index in its name.
    """
    wanted, cluster = references.parse(reference), connect(target)
    found = _chosen(run_files.stored(find_run(cluster, wanted.run).taskruns), wanted)
    if file is not None:
        _fetch(cluster, [each for each in found if each.name == file], file, Path(folder))
    elif output_format != Format.TEXT:
        output.data(output.to_json(found), output_format)
    elif not found:
        output.note("no task of it has stored a file")
    else:
        output.print_table(_HEAD, [_row(each) for each in found])


def _chosen(found: Iterable[RunFile], wanted: RunReference) -> list[RunFile]:
    path = None if wanted.path is None else tuple(wanted.path)
    return [
        each
        for each in found
        if (wanted.task is None or each.task == wanted.task) and (path is None or each.path == path)
    ]


def _row(each: RunFile) -> list[str]:
    return [each.ref, each.name, each.kind, str(each.size), each.digest[:_DIGITS], ",".join(each.readers)]


def _fetch(cluster: ClusterConnection, found: list[RunFile], name: str, folder: Path) -> None:
    if not found:
        raise CliError(f"no such task has stored a file {printable(name)}; `torpor files NAME` lists them")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    several = len(found) > 1
    for each in found:
        _write(cluster, each, folder / (f"{each.task}-{each.index}-{each.name}" if several else each.name))


def _write(cluster: ClusterConnection, file: RunFile, target: Path) -> None:
    if target.exists():
        raise CliError(f"{target} exists already; choose another folder with -d")
    pieces = ArchiveProxy(cluster.api).file(file.namespace or cluster.namespace, file.taskrun, file.name, file.digest)
    described: dict[str, Any] = {"kind": file.kind, "digest": file.digest}
    try:
        file_content.write(pieces, described, target)
    except (UserError, tarfile.TarError, EOFError) as error:
        raise CliError(f"{file.ref}: {file.name} cannot be read: {error}; {target} is not complete") from error
    except OSError as error:
        raise CliError(f"{target} cannot be written: {error.strerror}") from error
    output.note(f"{target}: {file.size} bytes of {file.ref}")
