"""Starts a run: adds the finalizer, defaults of the namespace and the installation, and the bodies of the tasks.

All of it is one write, and none if the run needs nothing of it. The defaults are read once: a later change of the
namespace does not change the run (ADR 0057).
"""

from dataclasses import replace

from torpor_crds.models.defaults import TaskDefaults, merged
from torpor_expressions.value import JSON
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import ReadNamespace, SetFinalizers
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.task_defaults import DefaultsError, parse_defaults
from torpor_operator.workflows.plan import invalid_run
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.start import deletion_guard, task_bodies, waiting
from torpor_operator.workflows.plan.start.task_bodies import BodyProblem
from torpor_operator.workflows.plan.status import RunVerdict


def start(run: RunContext) -> WorkflowPlan | None:
    """Add the finalizer before anything is created, since it keeps the Workflow until its waits and pods have ended.

    In a namespace that is not set up, which cannot be read, nothing is created and the run does not start.
    """
    metadata = run.workflow.metadata
    if constants.FINALIZER in metadata.finalizers or metadata.deletion_timestamp is not None or run.snapshot.not_ready:
        return None
    is_needed = deletion_guard.needs_finalizer(run.workflow.spec)
    finalizers = (*metadata.finalizers, constants.FINALIZER)
    is_copied = run.workflow.spec.template_ref is not None  # with the defaults and bodies of that moment
    if is_copied or run.workflow.status.start_time is not None or run.snapshot.taskruns:
        return WorkflowPlan(actions=(SetFinalizers(finalizers=finalizers),)) if is_needed else None
    if run.snapshot.uncopied:
        return _fail_rejected(run)
    own = run.workflow.spec.defaults
    match defaults_of(run, own):
        case WorkflowPlan() as held:
            return _end_unstarted(run) or held
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case defaults:
            added = None if defaults is None or defaults == own else as_json(defaults)
            if added is None and not is_needed:
                return None
            return _with_bodies(run, SetFinalizers(finalizers=finalizers, defaults=added))


def _with_bodies(run: RunContext, action: SetFinalizers) -> WorkflowPlan:
    """The plan that starts the run, with the fields that its tasks get of their bodies."""
    spec = run.workflow.spec
    if all(task.use is None for task in spec.tasks):
        return WorkflowPlan(actions=(action,))
    match task_bodies.additions_of(run, task_bodies.written_tasks(spec), spec.bodies):
        case WorkflowPlan() as held:
            return _end_unstarted(run) or held
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case BodyProblem(message):
            return invalid_run.fail(run, RunVerdict.failed(Reason.WORKFLOW_INVALID, message))
        case additions:
            return WorkflowPlan(actions=(replace(action, additions=dict(task_bodies.by_pointer(additions))),))


def _fail_rejected(run: RunContext) -> WorkflowPlan:
    """The end of a run whose start the API server rejects: by the bodies of its tasks, or by the added defaults."""
    rejection, spec = run.snapshot.uncopied, run.workflow.spec
    if any(task.use is not None for task in spec.tasks) and "spec.defaults" not in rejection:
        message = f"the API server rejects the tasks with the fields of their bodies: {rejection}"
        return invalid_run.fail(run, RunVerdict.failed(Reason.WORKFLOW_INVALID, message))
    message = f"the API server rejects the defaults of namespace {run.workflow.metadata.namespace}: {rejection}"
    return invalid_run.fail(run, RunVerdict.failed(Reason.DEFAULTS_INVALID, message))


def _end_unstarted(run: RunContext) -> WorkflowPlan | None:
    """The end of a run that is cancelled or stopped while it waits; None if it is not."""
    spec = run.workflow.spec
    if not spec.cancel and not spec.stop:
        return None
    field = "spec.cancel" if spec.cancel else "spec.stop"
    return invalid_run.fail(run, RunVerdict.failed(Reason.CANCELLED, f"{field} was set"))


def defaults_of(run: RunContext, own: TaskDefaults | None) -> TaskDefaults | Pending | WorkflowPlan | None:
    """The defaults of a run that has these of its own; a plan to wait if those of the namespace are invalid."""
    namespace = run.workflow.metadata.namespace
    need = ReadNamespace(namespace)
    facts = run.snapshot.known.get(need)
    if not isinstance(facts, NamespaceFacts):
        return Pending((need,))
    try:
        of_namespace = parse_defaults(facts.defaults)
    except DefaultsError as error:
        message = f"the annotation {constants.DEFAULTS_ANNOTATION} of namespace {namespace} is invalid: {error}"
        return waiting.wait_for(run, Reason.DEFAULTS_INVALID, f"{message}; the run starts when it is corrected")
    return merged(own, merged(of_namespace, parse_defaults(run.snapshot.settings.task_defaults)))


def as_json(defaults: TaskDefaults) -> dict[str, JSON]:
    """The defaults as they are stored: without empty lists and objects."""
    return _without_empty(defaults.to_json())


def _without_empty(body: dict[str, JSON]) -> dict[str, JSON]:
    kept = {name: _without_empty(part) if isinstance(part, dict) else part for name, part in body.items()}
    return {name: part for name, part in kept.items() if part not in ([], {})}
