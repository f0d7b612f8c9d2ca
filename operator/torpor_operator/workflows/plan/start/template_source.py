"""Reads the templates that a run needs when it starts: its own, and those whose bodies its tasks use."""

from collections.abc import Collection
from dataclasses import dataclass

from torpor_crds.models.run_of import TemplateRef
from torpor_crds.models.template import ClusterWorkflowTemplate
from torpor_wire.enums import TemplateKind
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import ReadNamespace, ReadTemplate
from torpor_operator.model.snapshot import NamespaceFacts, Presence, TemplateSource, UnreadableTemplate
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.workflows.plan import invalid_run
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.start import waiting
from torpor_operator.workflows.plan.start.allowed_namespaces import is_allowed
from torpor_operator.workflows.plan.status import RunVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateKey:
    """The name of a template of the namespace, or of the cluster."""

    name: str
    of_cluster: bool = False

    def __str__(self) -> str:
        return f"{TemplateKind.CLUSTER} {self.name}" if self.of_cluster else f"template {self.name}"

    @classmethod
    def from_reference(cls, reference: TemplateRef) -> "TemplateKey":
        """The key of a reference."""
        return cls(name=reference.name, of_cluster=reference.kind is TemplateKind.CLUSTER)


def read(run: RunContext, key: TemplateKey) -> TemplateSource | Pending | WorkflowPlan:
    """The template; what to read first; or the plan of a run that waits for it, or fails."""
    need = ReadTemplate("" if key.of_cluster else run.workflow.metadata.namespace, key.name)
    match run.snapshot.known.get(need):
        case TemplateSource(template=ClusterWorkflowTemplate() as template) as source:
            return _not_allowed(run, template) or source
        case TemplateSource() as source:
            return source
        case UnreadableTemplate(message):
            return fail(run, f"{key} cannot be read: {message}")
        case Presence.GONE:
            return _wait(run, key)
        case _:
            return Pending((need,))


def _not_allowed(run: RunContext, template: ClusterWorkflowTemplate) -> Pending | WorkflowPlan | None:
    """The end of a run in a namespace that the author of the template has not allowed."""
    namespace = run.workflow.metadata.namespace
    need = ReadNamespace(namespace)
    facts = run.snapshot.known.get(need)
    if not isinstance(facts, NamespaceFacts):
        return Pending((need,))
    if is_allowed(template.spec.allowed_namespaces, namespace, facts.labels):
        return None
    message = (
        f"{TemplateKind.CLUSTER} {template.metadata.name} does not allow namespace {namespace}: its author adds the "
        "namespace to spec.allowedNamespaces, or an administrator sets a label that its selector has"
    )
    return invalid_run.fail(run, RunVerdict.failed(Reason.TEMPLATE_NOT_ALLOWED, message))


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
    where = "" if key.of_cluster else f" in namespace {namespace}"
    message = f"{key} does not exist{where}; the run starts when it is created"
    return waiting.wait_for(run, Reason.TEMPLATE_NOT_FOUND, message)
