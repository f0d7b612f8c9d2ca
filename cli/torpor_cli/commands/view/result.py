"""`torpor result`."""

import codecs
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from torpor_client.runs import references, stored_body
from torpor_client.runs.instances import check_reference
from torpor_client.runs.references import RunReference
from torpor_views import json_fields
from torpor_views.model import InstanceView, RunView
from torpor_wire import instance_paths
from torpor_wire.state import State
from torpor_wire.text import printable

from torpor_cli import output
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.errors import CliError, UsageError
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.runs.mapped_results import MappedResults
from torpor_cli.runs.run_lookup import FoundRun, find_run_without_taskruns, owned, taskruns_selection
from torpor_cli.target import TargetOptions

_STDOUT = "-"
_HIDDEN_OR_OPTION = frozenset(".-~")
"""What a file name from a task does not begin with: a program of the user would read or expand such a name."""
_SEPARATORS = frozenset("/\\:")


@click.command("result", cls=ClusterCommand)
@click.argument("reference", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_reference)
@click.option(
    "-o", "--output", "path", metavar="FILE", help="Write to FILE, or a new file in a folder; - is standard output."
)
@click.pass_obj
def result_command(target: TargetOptions, reference: str, path: str | None) -> None:
    """Print the result of a run or a task, or write it to a file.

    The result of a run is the value of spec.result. JSON is printed as JSON text; bytes and files are written
    unchanged, and not to a terminal. The results of a mapped task are JSON lines with their indexes; NAME/TASK/INDEX is
    one of them.
    """
    if path in {"text", "wide", "json", "yaml", "name"}:
        raise UsageError(f"-o takes a file, not a format; omit it to print the result, or write -o ./{path}")
    wanted, cluster = references.parse(reference), connect(target)
    run = find_run_without_taskruns(cluster, wanted.run)
    if wanted.path is None and wanted.task is not None and _is_mapped(run, wanted.task):
        _all_results(cluster, run, wanted, path)
        return
    if wanted.task is None:
        _check_run_result(run.workflow)
        source = run.workflow
    else:
        source = _taskrun(cluster, run, wanted)
    status = json_fields.fields(source.get("status"))
    stored = json_fields.fields(status.get("stored"))
    if stored_body.is_binary(stored) and path is None and sys.stdout.isatty():
        raise UsageError(f"the result is {_described(stored)}; write it with -o FILE")
    chunks = _content(cluster, source, status, stored)
    if path is None or path == _STDOUT:
        _print(chunks)
    elif Path(path).is_dir():
        _save(chunks, Path(path) / _file_name(path, stored), replace=False)
    else:
        _save(chunks, Path(path), replace=True)


def _check_run_result(workflow: Object) -> None:
    """Raise CliError if the run has no result, and say why."""
    name, status = workflow["metadata"]["name"], json_fields.fields(workflow.get("status"))
    if "result" not in json_fields.fields(workflow.get("spec")):
        raise CliError(f"{name} has no spec.result; name a task: torpor result {name}/TASK")
    if "result" not in status and not status.get("stored"):
        state = json_fields.text(status.get("state")) or "not begun"
        raise CliError(f"{name} has no result: its state is {printable(state)}; see `torpor why {name}`")


def _is_mapped(run: FoundRun, name: str) -> bool:
    task = RunView.parse(run.workflow, now=0.0).task(name)
    return task is not None and task.several


def _all_results(cluster: ClusterConnection, run: FoundRun, wanted: RunReference, path: str | None) -> None:
    """Print the results of all instances, or write them to a file."""
    if path is not None and Path(path).is_dir():
        raise UsageError(f"{path} is a folder, and the results have no file name; name a file with -o")
    results = MappedResults()
    with results.file:
        if run.archived:
            results.collect(taskrun for taskrun in run.taskruns if taskrun["spec"].get("task") == wanted.task)
        else:
            for page in cluster.api.pages(taskruns_selection(cluster, run.workflow, wanted.task or "")):
                results.collect(owned(page.items, run.workflow))
        if not results.instances:
            raise CliError(f"{wanted.task} has no instances yet; see `torpor why {wanted.run}/{wanted.task}`")
        chunks = results.chunks(lambda taskrun, stored: _stored(cluster, taskrun, stored))
        if path is None or path == _STDOUT:
            _print(chunks)
        else:
            _save(chunks, Path(path), replace=True)
    if results.missing:
        states = ", ".join(f"{number} {state}" for state, number in results.missing.most_common())
        output.note(f"without a result: {states}")


def _taskrun(cluster: ClusterConnection, found_run: FoundRun, wanted: RunReference) -> Object:
    """Return the TaskRun that a reference names. Raises UnknownNameError, and CliError if it has no result."""
    taskruns = found_run.taskruns if found_run.archived else _taskruns(cluster, found_run.workflow, wanted.task or "")
    run = RunView.parse(found_run.workflow, taskruns, now=0.0)
    check_reference(wanted, run)
    instance = _instance(run, wanted)
    if instance.state is not State.SUCCEEDED:
        raise CliError(
            f"{instance.ref} has no result: its state is {instance.word}; see `torpor why {run.name}/{instance.ref}`"
        )
    return next(item for item in taskruns if item["metadata"]["uid"] == instance.uid)


def _taskruns(cluster: ClusterConnection, workflow: Object, task: str) -> list[Object]:
    """Return the TaskRuns of one task only, since a run can have 10,000 of others."""
    return owned(cluster.api.list(taskruns_selection(cluster, workflow, task)), workflow)


def _instance(run: RunView, wanted: RunReference) -> InstanceView:
    task = wanted.task or ""
    instances = run.instances_of(task)
    if wanted.path is None and len(instances) == 1 and not instances[0].path:
        return instances[0]
    if wanted.path is None and not instances:
        raise CliError(f"{task} has no result: it has not started; see `torpor why {run.name}/{task}`")
    exact = next((instance for instance in instances if instance.path == wanted.path), None)
    if exact is not None:
        return exact
    first = instance_paths.written(instances[0].path)
    raise UsageError(f"{task} has {len(instances)} instances; name one of them, such as {run.name}/{task}/{first}")


def _content(
    cluster: ClusterConnection, source: Object, status: Mapping[str, Any], stored: Mapping[str, Any]
) -> Iterator[bytes]:
    """Yield the result of a TaskRun or a Workflow, whose result in the archive is that of a TaskRun."""
    if not stored:
        text = json_fields.text(status.get("result")) or "null"
        return iter([f"{text}\n".encode(errors="surrogatepass")])
    return _stored(cluster, source, stored)


def _stored(cluster: ClusterConnection, source: Object, stored: Mapping[str, Any]) -> Iterator[bytes]:
    metadata = source["metadata"]
    uid = json_fields.text(stored.get("uid")) or metadata["uid"]
    namespace = metadata.get("namespace") or cluster.namespace
    chunks = ArchiveProxy(cluster.api).result(namespace, uid, json_fields.text(stored.get("digest")))
    return stored_body.value_of(stored, chunks)


def _print(chunks: Iterable[bytes]) -> None:
    """Write exact bytes, but to a terminal text in which escape sequences are visible."""
    output.flush()
    if sys.stdout.isatty():
        for text in codecs.iterdecode(chunks, "utf-8", "replace"):
            sys.stdout.write(printable(text))
    else:
        sys.stdout.buffer.writelines(chunks)


def _file_name(folder: str, stored: Mapping[str, Any]) -> str:
    """Return the name that the task gave its file. Raises UsageError for a name that a user would not choose."""
    name = json_fields.text(stored.get("name"))
    if not name:
        raise UsageError(f"{folder} is a folder, and the result has no file name; name a file with -o")
    if name[0] in _HIDDEN_OR_OPTION or _SEPARATORS & set(name) or printable(name) != name:
        raise UsageError(f"the task names its file {printable(name)!r}, which is not used here; name a file with -o")
    return name


def _save(chunks: Iterable[bytes], target: Path, *, replace: bool) -> None:
    """Write a file that appears under its name only when it is complete. Raises CliError.

    `replace`: whether the user named this file, so that an earlier one is replaced.
    """
    if target.exists() and not target.is_file() and replace:  # such as /dev/null or a named pipe
        with target.open("wb") as device:
            device.writelines(chunks)
        return
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".torpor-", delete=False) as file:
            part = Path(file.name)
            try:
                file.writelines(chunks)
                file.flush()
                part.chmod(0o666 & ~_umask())
                if replace:
                    part.replace(target)
                else:
                    os.link(part, target)
            finally:
                part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise CliError(f"{target} exists already; name a file with -o") from error
    except OSError as error:
        raise CliError(f"{target} cannot be written: {error.strerror}; choose another file with -o") from error
    output.note(f"{target}: {target.stat().st_size} bytes")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _described(stored: Mapping[str, Any]) -> str:
    name, size = json_fields.text(stored.get("name")), json_fields.number(stored.get("size"))
    return f"the file {name} of {size} bytes" if name else f"{size} bytes of binary data"
