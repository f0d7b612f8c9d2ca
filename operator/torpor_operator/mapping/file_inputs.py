"""The files of an instance: inputs, with evaluated expressions and the outputs of others, and outputs. Pure.

An input names the digest of each output that it is (ADR 0064). So the TaskRun tells what it read.
"""

import re
from collections.abc import Iterator, Mapping

from torpor_crds.models.files import (
    FileOrigin,
    FileText,
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

from torpor_operator.expressions import file_texts, resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.model.actions import Need
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

_URL_MAX = 2048
_WEB = (re.compile(r"https?://[^/\s]\S*"), "an address with http:// or https://")
_SHAPES = {
    "http.url": _WEB,
    "git.url": (re.compile(r"https?://[^/\s@]+(/\S*)?"), "an address with http:// or https://, without a user"),
    "object.url": (
        re.compile(r"(s3|gs|az)://[a-zA-Z0-9$][-a-zA-Z0-9._]{0,221}(/[^\x00]*)?"),
        "an address such as s3://bucket/key, gs://bucket/key or az://container/path",
    ),
    "git.ref": (re.compile(r"[^\s\x00]{1,255}"), "the name of a branch, a tag or a commit"),
    "git.path": (re.compile(r"[^\x00]{1,1024}"), "a path in the repository"),
}
"""What the value of a field must be. `torpor-tool` checks it again, with the address that a connection has."""


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
    evaluated: dict[str, str] = {}
    for field, template, _ in file_texts.texts(source):
        text = _text(template, scope)
        if not isinstance(text, str):
            return text
        if (problem := _problem(field, text)) is not None:
            return problem
        evaluated[field] = text
    return RunInput(
        name=entry.name,
        path=path,
        text=evaluated.get("text"),
        http=source.http and source.http.model_copy(update={"url": evaluated["http.url"]}),
        object=source.object and source.object.model_copy(update={"url": evaluated["object.url"]}),
        git=source.git and source.git.model_copy(update=_of_git(evaluated)),
    )


def _of_git(evaluated: Mapping[str, str]) -> dict[str, str]:
    fields = {name: evaluated.get(f"git.{name}") for name in ("url", "ref", "path")}
    return {name: text for name, text in fields.items() if text is not None}


def _problem(field: str, text: str) -> ExpressionError | None:
    """Why the value of a field is not valid; None if it is."""
    if field == "text":
        return _text_problem(text)
    shape, meaning = _SHAPES[field]
    if len(text) <= _URL_MAX and shape.fullmatch(text):
        return None
    return errors.failed(f"the value {errors.shorten(text, 80)!r} of {field} is not {meaning}")


def _text_problem(text: FileText) -> ExpressionError | None:
    if len(text) <= constants.FILE_TEXT_MAX:
        return None
    return errors.failed(
        f"the text has {len(text)} characters; the limit is {constants.FILE_TEXT_MAX}: store it in a ConfigMap, or "
        "let an upstream task write the file"
    )


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
