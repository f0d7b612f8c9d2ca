"""The plan of a run that names a template and has not started: it gets the spec of the template, once.

The copy is the pin: later edits of the template, or its deletion, do not change the run (ADR 0034). A run starts when
it is not suspended, so a queued run gets the template as it is when its turn comes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from torpor_crds.models.defaults import TaskDefaults
from torpor_crds.models.workflow import Workflow, WorkflowSpec
from torpor_expressions.value import JSON
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_operator.expressions.context import Pending
from torpor_operator.mapping import template_params
from torpor_operator.mapping.template_params import InvalidParams
from torpor_operator.model.actions import CopyTemplate
from torpor_operator.model.snapshot import TemplateSource
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.workflows.plan import invalid_run
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.start import deletion_guard, run_start, task_bodies, template_source, waiting
from torpor_operator.workflows.plan.start.task_bodies import BodyProblem
from torpor_operator.workflows.plan.start.template_source import TemplateKey
from torpor_operator.workflows.plan.status import RunVerdict

RUN_FIELDS = frozenset({"templateRef", "runOf", "parent", "params", "suspend", "stop", "cancel"})
"""Fields of the spec that a run of a template has of its own."""


def copy_or_wait(run: RunContext) -> WorkflowPlan | None:
    """The plan of a run whose tasks are those of a template that it has not copied yet; None for any other run."""
    workflow = run.workflow
    spec, metadata = workflow.spec, workflow.metadata
    if spec.template_ref is None or spec.tasks or metadata.deletion_timestamp is not None:
        return None
    if spec.cancel or spec.stop:
        field = "spec.cancel" if spec.cancel else "spec.stop"
        return invalid_run.fail(run, RunVerdict.failed(Reason.CANCELLED, f"{field} was set"))
    if spec.suspend:
        return waiting.wait(run, RunVerdict(state=RunState.SUSPENDED, succeeded="Unknown", reason=Reason.SUSPENDED))
    match template_source.read(run, TemplateKey.from_reference(spec.template_ref)):
        case WorkflowPlan() as held:
            return held
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case read:
            return _copy(run, read)


def _copy(run: RunContext, read: TemplateSource) -> WorkflowPlan:
    workflow = run.workflow
    if not read.workflow.get("tasks"):
        name = read.template.metadata.name
        return template_source.fail(run, f"template {name} has only bodies for tasks of other Workflows, and no tasks")
    match template_params.resolve(read.template, workflow.spec.params, run.snapshot.known):
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case InvalidParams(message):
            return invalid_run.fail(run, RunVerdict.failed(Reason.PARAMS_INVALID, message))
        case params:
            return _copy_with_defaults(run, read, params)


def _copy_with_defaults(run: RunContext, read: TemplateSource, params: dict[str, JSON]) -> WorkflowPlan:
    """The copy, with the defaults of the namespace below those of the template."""
    match run_start.defaults_of(run, read.template.spec.workflow.defaults):
        case WorkflowPlan() as held:
            return held
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case defaults if run.snapshot.uncopied:
            return _fail_rejected(run, read, defaults)
        case defaults:
            return _copy_with_bodies(run, _copy_action(run.workflow, read, params, defaults))


def _copy_with_bodies(run: RunContext, copy: CopyTemplate) -> WorkflowPlan:
    """The copy, whose tasks have the fields of their bodies."""
    tasks: Any = copy.fields["tasks"]
    bodies: Any = copy.fields.get("bodies") or {}
    match task_bodies.additions_of(run, tasks, bodies):
        case WorkflowPlan() as held:
            return held
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case BodyProblem(message):
            return template_source.fail(run, message)
        case additions:
            fields = {**copy.fields, "tasks": task_bodies.completed(tasks, additions)}
            finalizers = _finalizers(run.workflow, fields)
            return WorkflowPlan(actions=(replace(copy, fields=fields, finalizers=finalizers),))


def _finalizers(workflow: Workflow, fields: Mapping[str, JSON]) -> tuple[str, ...]:
    """The finalizers of the run with these fields. Our own comes with the copy, since it would cost a write later."""
    present = workflow.metadata.finalizers
    own = {name: value for name, value in workflow.spec.to_json().items() if name in RUN_FIELDS}
    try:
        spec = WorkflowSpec.model_validate({**own, **fields})
    except ValidationError:  # the API server rejects the copy
        return present
    return tuple(dict.fromkeys((*present, constants.FINALIZER))) if deletion_guard.needs_finalizer(spec) else present


def _fail_rejected(run: RunContext, read: TemplateSource, defaults: TaskDefaults | None) -> WorkflowPlan:
    """The end of a run whose copy the API server rejects: by the template, or by the defaults that were added to it."""
    name, namespace, rejection = read.template.metadata.name, run.workflow.metadata.namespace, run.snapshot.uncopied
    if defaults != read.template.spec.workflow.defaults and "spec.defaults" in rejection:
        message = (
            f"the API server rejects the defaults of namespace {namespace} with those of template {name}: {rejection}"
        )
        return invalid_run.fail(run, RunVerdict.failed(Reason.DEFAULTS_INVALID, message))
    return template_source.fail(run, f"the API server rejects the spec of template {name}: {rejection}")


def _copy_action(
    workflow: Workflow, read: TemplateSource, params: dict[str, JSON], defaults: TaskDefaults | None
) -> CopyTemplate:
    fields = {name: value for name, value in read.workflow.items() if name not in RUN_FIELDS}
    if defaults is not None and defaults != read.template.spec.workflow.defaults:
        fields["defaults"] = run_start.as_json(defaults)
    return CopyTemplate(fields=fields | {"params": params}, finalizers=workflow.metadata.finalizers)
