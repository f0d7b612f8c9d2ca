"""The tasks of a local run with the fields of their bodies, as the operator adds them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_crds.models import template as templates
from torpor_operator.model.snapshot import TemplateSource
from torpor_operator.workflows.plan.start import task_bodies
from torpor_operator.workflows.plan.start.task_bodies import BodyProblem
from torpor_operator.workflows.plan.start.template_source import TemplateKey
from torpor_wire.enums import TemplateKind

from torpor_cli import errors
from torpor_cli.local_run import folders


def with_bodies(spec: Mapping[str, Any], others: Sequence[Mapping[str, Any]], *, file: str) -> dict[str, Any]:
    """Return the spec with complete tasks. `others` are the objects beside it. Raises CliError."""
    tasks = spec.get("tasks") or ()
    sources = {key: _source(key, others, file) for key in task_bodies.templates_of(tasks)}
    additions = task_bodies.resolve(tasks, spec.get("bodies") or {}, sources)
    if isinstance(additions, BodyProblem):
        raise errors.CliError(f"{file}: {additions.message}")
    return {**spec, "tasks": task_bodies.completed(tasks, additions)} if additions else dict(spec)


def _source(key: TemplateKey, others: Sequence[Mapping[str, Any]], file: str) -> TemplateSource:
    kind = TemplateKind.CLUSTER if key.of_cluster else TemplateKind.NAMESPACE
    body = folders.by_name(others, kind).get(key.name)
    if body is None:
        raise errors.CliError(
            f"{file}: a task uses a body of {key}, which the file does not have; add it as another document"
        )
    return TemplateSource(templates.parse(body), body["spec"]["workflow"])
