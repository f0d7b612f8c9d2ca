"""The files of an instance: inputs, with evaluated expressions and the outputs of others, and outputs. Pure.

An input names the digest of each output that it is (ADR 0064). So the TaskRun tells what it read.
"""

import re
from collections.abc import Iterator, Mapping

from torpor_crds.models.files import (
    FileOrigin,
    FileText,
    HttpFile,
    RunFiles,
    RunInput,
    RunOutput,
    TaskInput,
    input_path,
    output_path,
)
from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical, constants, instance_paths
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.model.actions import Need
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

_URL = re.compile(r"https?://[^/\s]\S*")
_URL_MAX = 2048


def resolve_files(task: Task, scope: Scope) -> RunFiles | TaskOutcome | Pending | None:
    """The files of one instance, whose `mapping` is in the scope; None for a task without files."""
    if task.files is None:
        return None
    inputs: list[RunInput] = []
    needs: list[Need] = []
    for entry in task.files.in_:
        match _input(entry, scope):
            case RunInput() as resolved:
                inputs.append(resolved)
            case Pending(more):
                needs += more
            case ExpressionError() as error:
                return failed_without_runs(task.name, error.reason, f"files.in {entry.name}: {error.message}")
            case str() as problem:
                return failed_without_runs(task.name, Reason.FILE_MISSING, f"files.in {entry.name}: {problem}")
            case None:
                pass
    if needs:
        return Pending(tuple(needs))
    outputs = (
        RunOutput(
            name=each.name, path=output_path(each.name, each.path), optional=each.optional, compress=each.compress
        )
        for each in task.files.out
    )
    return RunFiles(in_=tuple(inputs), out=tuple(outputs))


def _input(entry: TaskInput, scope: Scope) -> RunInput | ExpressionError | Pending | str | None:
    """The input; None if it is optional and was not stored; a text says why a required one is missing."""
    source, path = entry.source, input_path(entry.name, entry.path)
    if source.task is not None:
        origins = _origins(source.task, source.file or "", scope.outcomes)
        if isinstance(origins, str):
            return None if entry.optional else origins
        return RunInput(name=entry.name, path=path, origins=origins)
    if source.config_map is not None:
        return RunInput(name=entry.name, path=path, config_map=source.config_map)
    text = _text(source.http.url if source.http else source.text or "", scope)
    if not isinstance(text, str):
        return text
    if source.http is None:
        return _of_text(entry.name, path, text)
    if len(text) > _URL_MAX or not _URL.fullmatch(text):
        return errors.failed(f"the address {errors.shorten(text, 80)!r} does not begin with http:// or https://")
    return RunInput(name=entry.name, path=path, http=HttpFile(url=text, sha256=source.http.sha256))


def _of_text(name: str, path: str, text: FileText) -> RunInput | ExpressionError:
    if len(text) > constants.FILE_TEXT_MAX:
        return errors.failed(
            f"the text has {len(text)} characters; the limit is {constants.FILE_TEXT_MAX}: store it in a ConfigMap, or "
            "let an upstream task write the file"
        )
    return RunInput(name=name, path=path, text=text)


def _origins(name: str, file: str, outcomes: Mapping[str, TaskOutcome]) -> tuple[FileOrigin, ...] | str:
    """The stored outputs of a task, or why there is none. Of a mapped task each has an entry, its index."""
    outcome = outcomes[name]
    found = [origin for run in outcome.runs.values() for origin in _of_run(run, file, outcome)]
    if not found:
        return f"task {name} has stored no file {file}: its state is {outcome.state}"
    if len(found) > constants.FILE_ORIGINS_MAX:
        return (
            f"task {name} has stored {len(found)} files {file}; an input has at most {constants.FILE_ORIGINS_MAX}: "
            "collect them in a group, or in several tasks"
        )
    return tuple(found)


def _of_run(run: TaskRun, file: str, outcome: TaskOutcome) -> Iterator[FileOrigin]:
    entry = instance_paths.written(run.spec.path[len(outcome.group_path) :]) if outcome.mapped else None
    for stored in run.status.files:
        if stored.name == file:
            yield FileOrigin(
                taskrun=run.metadata.uid,
                name=file,
                digest=stored.digest,
                size=stored.size,
                kind=stored.kind,
                entry=entry,
            )


def _text(template: JSON, scope: Scope) -> str | ExpressionError | Pending:
    """A text with its expressions replaced: a string as it is, another value as JSON."""
    resolved = resolve.resolve_value(template, scope)
    if isinstance(resolved, ExpressionError | Pending):
        return resolved
    return resolved.json if isinstance(resolved.json, str) else canonical.plain(resolved.json)
