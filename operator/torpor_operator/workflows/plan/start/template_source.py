"""Reads the templates that a run needs when it starts: its own, and those whose bodies its tasks use."""

from collections.abc import Collection
from dataclasses import dataclass

from torpor_wire.reason import Reason

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import ReadTemplate
from torpor_operator.model.snapshot import Presence, TemplateSource, UnreadableTemplate
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.workflows.plan import invalid_run
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.start import waiting
from torpor_operator.workflows.plan.status import RunVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateKey:
    """The name of a template."""

    name: str

    def __str__(self) -> str:
        return f"template {self.name}"


def read(run: RunContext, key: TemplateKey) -> TemplateSource | Pending | WorkflowPlan:
    """The template; what to read first; or the plan of a run that waits for it, or fails."""
    need = ReadTemplate(run.workflow.metadata.namespace, key.name)
    match run.snapshot.known.get(need):
        case TemplateSource() as source:
            return source
        case UnreadableTemplate(message):
            return fail(run, f"{key} cannot be read: {message}")
        case Presence.GONE:
            return _wait(run, key)
        case _:
            return Pending((need,))


def read_all(
    run: RunContext, keys: Collection[TemplateKey]
) -> dict[TemplateKey, TemplateSource] | Pending | WorkflowPlan:
    """The templates by key, as for one. All are read at once."""
    answers = {key: read(run, key) for key in keys}
    for answer in answers.values():
        if isinstance(answer, WorkflowPlan):
            return answer
    needs = [need for answer in answers.values() if isinstance(answer, Pending) for need in answer.needs]
    if needs:
        return Pending(tuple(needs))
    return {key: answer for key, answer in answers.items() if isinstance(answer, TemplateSource)}


def fail(run: RunContext, message: str) -> WorkflowPlan:
    """The end of a run whose template is invalid."""
    return invalid_run.fail(run, RunVerdict.failed(Reason.TEMPLATE_INVALID, message))


def _wait(run: RunContext, key: TemplateKey) -> WorkflowPlan:
    namespace = run.workflow.metadata.namespace
    message = f"{key} does not exist in namespace {namespace}; the run starts when it is created"
    return waiting.wait_for(run, Reason.TEMPLATE_NOT_FOUND, message)
