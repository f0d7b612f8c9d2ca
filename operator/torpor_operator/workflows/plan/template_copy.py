"""The plan of a run that names a template and has not started: it gets the spec of the template, once.

The copy is the pin: later edits of the template, or its deletion, do not change the run (ADR 0034). A run starts when
it is not suspended, so a queued run gets the template as it is when its turn comes.
"""

from torpor_crds.models.workflow import Workflow
from torpor_expressions.value import JSON
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_operator.expressions.context import Pending
from torpor_operator.mapping import template_params
from torpor_operator.mapping.template_params import InvalidParams
from torpor_operator.model.actions import CopyTemplate, PostEvent, ReadTemplate, WorkflowPlan
from torpor_operator.model.snapshot import Presence, TemplateSource, UnreadableTemplate
from torpor_operator.workflows.plan import invalid_run, status
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.status import RunVerdict

RUN_FIELDS = frozenset({"templateRef", "runOf", "params", "suspend", "stop", "cancel"})
"""Fields of the spec that a run of a template has of its own."""
_PACE_MIN, _PACE_MAX = 1.0, 10.0
_PACE_OF_AGE = 0.1
"""Pause between two reads of a missing template, as a share of the age of the run."""


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
        return _wait(run, RunVerdict(state=RunState.SUSPENDED, succeeded="Unknown", reason=Reason.SUSPENDED))
    name = spec.template_ref.name
    if run.snapshot.uncopied:
        return _fail(run, f"the API server rejects the spec of template {name}: {run.snapshot.uncopied}")
    need = ReadTemplate(metadata.namespace, name)
    match run.snapshot.known.get(need):
        case TemplateSource() as read:
            return _copy(run, read)
        case UnreadableTemplate(message):
            return _fail(run, f"template {name} cannot be read: {message}")
        case Presence.GONE:
            return _wait_for_template(run, name)
        case _:
            return WorkflowPlan(needs=(need,))


def _copy(run: RunContext, read: TemplateSource) -> WorkflowPlan:
    workflow = run.workflow
    match template_params.resolve(read.template, workflow.spec.params, run.snapshot.known):
        case Pending(needs):
            return WorkflowPlan(needs=needs)
        case InvalidParams(message):
            return invalid_run.fail(run, RunVerdict.failed(Reason.PARAMS_INVALID, message))
        case params:
            return WorkflowPlan(actions=(_copy_action(workflow, read, params),))


def _copy_action(workflow: Workflow, read: TemplateSource, params: dict[str, JSON]) -> CopyTemplate:
    finalizers = tuple(dict.fromkeys((*workflow.metadata.finalizers, constants.FINALIZER)))
    fields = {name: value for name, value in read.workflow.items() if name not in RUN_FIELDS}
    return CopyTemplate(fields=fields | {"params": params}, finalizers=finalizers)


def _fail(run: RunContext, message: str) -> WorkflowPlan:
    return invalid_run.fail(run, RunVerdict.failed(Reason.TEMPLATE_INVALID, message))


def _wait_for_template(run: RunContext, name: str) -> WorkflowPlan:
    metadata, now = run.workflow.metadata, run.snapshot.now
    message = f"template {name} does not exist in namespace {metadata.namespace}; the run starts when it is created"
    verdict = RunVerdict(state=RunState.PENDING, succeeded="Unknown", reason=Reason.TEMPLATE_NOT_FOUND, message=message)
    event = PostEvent(
        regarding=None,
        reason=Reason.TEMPLATE_NOT_FOUND,
        message=message,
        warning=True,
        key=f"{metadata.uid}/{Reason.TEMPLATE_NOT_FOUND}",
    )
    age = now - times.epoch(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    pace = min(max(age * _PACE_OF_AGE, _PACE_MIN), _PACE_MAX)
    return _wait(run, verdict, event, again_at=now + pace)


def _wait(run: RunContext, verdict: RunVerdict, *events: PostEvent, again_at: float | None = None) -> WorkflowPlan:
    """The plan of a run that has not started: neither its timeout nor its history begins."""
    former = run.workflow.status
    waiting = status.build(run.workflow, [], verdict, run.snapshot.now)
    unstarted = waiting.model_copy(update={"start_time": former.start_time, "history": former.history})
    return WorkflowPlan(status=unstarted, events=events, again_at=again_at)
