"""The file of a local run: one Workflow, and the objects beside it that the run needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torpor_client.changes import params, template_params
from torpor_wire import constants
from torpor_wire.enums import TemplateKind

from torpor_cli import errors
from torpor_cli.changes import manifest
from torpor_cli.local_run import folders

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFile:
    """A Workflow, and the other objects of its file."""

    name: str
    workflow: Object
    others: tuple[Object, ...] = ()

    def template(self) -> Object | None:
        """Return the template that the Workflow refers to, None if it refers to none.

        Raises CliError if the file does not have it.
        """
        reference = self.workflow["spec"].get("templateRef")
        if not reference:
            return None
        name, kind = reference["name"], reference.get("kind") or TemplateKind.NAMESPACE
        template = folders.by_name(self.others, kind).get(name)
        if template is None:
            raise errors.CliError(
                f"{self.name}: the Workflow refers to {kind} {name}, which the file does not have; add it as "
                "another document"
            )
        return dict(template)

    def spec(self) -> dict[str, Any]:
        """Return the spec of the run: that of the Workflow, or that of its template with the params of the run.

        Its tasks have the fields of their bodies. Raises CliError for a body that does not exist.
        """
        from torpor_cli.local_run import bodies  # noqa: PLC0415 - it needs pydantic

        return bodies.with_bodies(self._spec(), self.others, file=self.name)

    def _spec(self) -> dict[str, Any]:
        own = self.workflow["spec"]
        template = self.template()
        if template is None:
            return dict(own)
        declared = template_params.declared(template)
        defaults = {name: param.get("default") for name, param in declared.items()}
        constant = template["spec"]["workflow"].get("params") or {}
        return {**template["spec"]["workflow"], "params": {**defaults, **constant, **(own.get("params") or {})}}

    def as_stored(self) -> "WorkflowFile":
        """Return the file as an API server stores it: with defaults, and without the nulls of fields such as `after:`.

        The API server of a local run applies no schemas.
        """
        return replace(self, workflow=_as_stored(self.workflow), others=tuple(map(_as_stored, self.others)))

    def with_source_folders(self) -> "WorkflowFile":
        """Return the file with the ConfigMaps of `source` that are folders beside it."""
        if not Path(self.name).is_file():  # standard input
            return self
        config_maps = folders.config_maps(self.spec(), self.others, Path(self.name).parent)
        return replace(self, others=(*self.others, *config_maps))

    def with_params(self, pairs: Sequence[str], values: Mapping[str, Any]) -> "WorkflowFile":
        """Return the file with values for params: `NAME=VALUE` texts, and values. Raises UsageError."""
        own = self.workflow["spec"]
        template = self.template()
        if template is None:
            declared = own.get("params") or {}
            params.check_names(values, declared)
            given = {**values, **params.parse(pairs, declared)}
        else:
            given = template_params.parse(pairs, values, template)
            template_params.check_required({**(own.get("params") or {}), **given}, template)
        if not given:
            return self
        spec = {**own, "params": {**(own.get("params") or {}), **given}}
        return replace(self, workflow={**self.workflow, "spec": spec})

    def tasks(self) -> list[str]:
        """Return the names of the tasks."""
        return [task["name"] for task in self.spec().get("tasks") or ()]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidFile:
    """The findings of a file with errors, as `torpor lint` prints them."""

    lines: Sequence[str]
    summary: str


def read(name: str, own_triggers: Mapping[str, str] | None = None) -> WorkflowFile | InvalidFile:
    """Read and check a file. Raises UsageError for a file that cannot be read or has not exactly one Workflow.

    `own_triggers`: further trigger classes, name to `module:Class`. Raises UsageError for one that cannot be imported,
    and CliError for an invalid ConfigMap.
    """
    try:  # the other commands start without these
        from torpor_cli.linting import check, report, sources, triggers  # noqa: PLC0415
    except ImportError as error:
        raise errors.not_compiled("run", error) from error
    try:
        files = list(sources.read([name], recursive=False))
        classes = triggers.classes(own_triggers or {})
    except (sources.UnreadableFileError, triggers.UnusableTriggerError) as error:
        raise errors.UsageError(str(error)) from error
    if len(files) != 1:
        raise errors.UsageError(f"{name} is a folder of several files; name one file")
    checked = list(check.check(files, classes))
    if report.errors(checked):
        return InvalidFile(lines=list(report.text(checked)), summary=report.summary(checked))
    documents = manifest.documents(files[0].name, files[0].text)
    file = of_documents(files[0].name, documents).as_stored().with_source_folders()
    if problem := next(folders.source_problems(file.others), None):
        raise errors.CliError(f"{name}: {problem}")
    return file


def of_documents(name: str, documents: Sequence[Any]) -> WorkflowFile:
    """Return the Workflow of a file with the objects beside it. Raises UsageError unless there is exactly one."""
    objects = [item for document in documents for item in _objects(document)]
    workflows = [item for item in objects if _is_workflow(item)]
    if len(workflows) != 1:
        number = "no Workflow" if not workflows else f"{len(workflows)} Workflows"
        raise errors.UsageError(f"{name} has {number}; name a file with one Workflow")
    others = tuple(item for item in objects if not _is_workflow(item))
    return WorkflowFile(name=name, workflow=workflows[0], others=others)


def _objects(document: Any) -> list[Object]:
    match document:
        case {"kind": "List", "items": list() as items}:
            return [item for item in items if isinstance(item, dict)]
        case dict():
            return [document]
        case _:
            return []


def _as_stored(body: Object) -> Object:
    from torpor_cli.linting import (  # noqa: PLC0415 - they need pydantic
        bundled,
        kinds,
        schema,
    )

    kind = kinds.kind_of(body)
    if kind is None:
        return body
    openapi = bundled.schema(kinds.PLURALS[kind])
    stored: Object = schema.without_nulls({name: value for name, value in body.items() if name != "metadata"}, openapi)
    return {**stored, "metadata": body.get("metadata") or {}}


def _is_workflow(body: Mapping[str, Any]) -> bool:
    return body.get("kind") == "Workflow" and body.get("apiVersion") == constants.API_VERSION
