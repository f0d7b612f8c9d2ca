"""Builds the CustomResourceDefinitions: names, printer columns, selectable fields, rules and schema.

The short names avoid those of Argo (wf, wfs, cwf, wftmpl, ...) and Tekton (tr, trs, pr, prs, ...). The category is
`torpor` instead of `all`, so that `kubectl get all` does not list thousands of TaskRuns.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torpor_wire import constants, state

from torpor_crds.crdgen import body_schemas, cel_rules
from torpor_crds.crdgen.openapi import Schema, structural
from torpor_crds.models import backfill, schedule, taskrun, template, workflow
from torpor_crds.models.base import Model

_API_VERSION = {
    "type": "string",
    "maxLength": 253,
    "description": f"Group and version of this object: {constants.API_VERSION}.",
}


_ATOMIC = {"x-kubernetes-map-type": "atomic"}
"""For an object with one writer at a time: metadata.managedFields has one entry for it, not for each of its fields."""


class PrinterColumn(NamedTuple):
    """A column of `kubectl get`. Priority 1 shows it with `-o wide` only."""

    name: str
    path: str
    description: str
    type: str = "string"
    priority: int = 0

    def to_json(self) -> Schema:
        """Return the column as in the CRD."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path, "description": self.description}
        return column | ({"priority": self.priority} if self.priority else {})


class KindDefinition(NamedTuple):
    """The properties in which the kinds differ."""

    name: str
    plural: str
    short: str
    columns: Sequence[PrinterColumn]
    selectable: Sequence[str] = ()
    has_status: bool = True
    namespaced: bool = True


_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "Time since it was created.", "date")

_TASKRUN = KindDefinition(
    name="TaskRun",
    plural="taskruns",
    short="ttr",
    selectable=(".spec.triggerPool", ".status.state", ".status.trigger.shard"),
    columns=(
        PrinterColumn("Workflow", ".spec.workflow.name", "Workflow of the TaskRun."),
        PrinterColumn("Schedule", ".spec.schedule.name", "Schedule of the TaskRun.", priority=1),
        PrinterColumn("Task", ".spec.task", "Task of the Workflow, or source of the Schedule."),
        # The whole array: kubectl prints it as [2,0], but only the first number of `[*]`.
        PrinterColumn(
            "Group-Indexes",
            ".spec.groupIndexes",
            "Index in each mapped group that contains the task, outermost first.",
            priority=1,
        ),
        PrinterColumn("Index", ".spec.mapIndex", "Index of the instance; empty if the task is not mapped.", "integer"),
        PrinterColumn("State", ".status.state", "State of the TaskRun."),
        PrinterColumn("Reason", ".status.reason", "Why it failed or waits."),
        PrinterColumn("Attempt", ".status.attempt", "Number of the attempt, from 1.", "integer"),
        PrinterColumn("Waits-For", ".status.trigger.waitsFor", "What the TaskRun waits for."),
        _AGE,
        PrinterColumn("Display-Name", ".spec.displayName", "Display name of the instance.", priority=1),
        PrinterColumn("Pod", ".status.pod.name", "Pod of the current segment.", priority=1),
        PrinterColumn("Trigger", ".status.trigger.class", "Class of the trigger.", priority=1),
        PrinterColumn("Duration", ".status.duration", "Time from the creation to the end.", priority=1),
        PrinterColumn("Finished-At", ".status.completionTime", "Time of the end.", priority=1),
        PrinterColumn("Shard", ".status.trigger.shard", "Shard of the triggerer that runs it.", "integer", 1),
    ),
)

_WORKFLOW = KindDefinition(
    name="Workflow",
    plural="workflows",
    short="twf",
    columns=(
        PrinterColumn("State", ".status.state", "State of the run."),
        PrinterColumn("Progress", ".status.progress", "Ended instances of the known instances."),
        PrinterColumn(
            "Reason", '.status.conditions[?(@.type=="Succeeded")].reason', "Reason of the condition Succeeded."
        ),
        _AGE,
        PrinterColumn(
            "Message",
            '.status.conditions[?(@.type=="Succeeded")].message',
            "Message of the condition Succeeded.",
            priority=1,
        ),
        PrinterColumn("Schedule", ".spec.runOf.schedule", "Schedule that started the run.", priority=1),
    ),
)

_TEMPLATE = KindDefinition(
    name="WorkflowTemplate",
    plural="workflowtemplates",
    short="twt",
    has_status=False,
    columns=(
        PrinterColumn("Description", ".spec.description", "What the workflow does."),
        _AGE,
    ),
)

_CLUSTER_TEMPLATE = KindDefinition(
    name="ClusterWorkflowTemplate",
    plural="clusterworkflowtemplates",
    short="tcwt",
    has_status=False,
    namespaced=False,
    columns=(
        PrinterColumn("Description", ".spec.description", "What the workflow does."),
        _AGE,
        PrinterColumn("Namespaces", ".spec.allowedNamespaces.names", "Namespaces that may use it.", priority=1),
    ),
)

_SCHEDULE = KindDefinition(
    name="Schedule",
    plural="schedules",
    short="tsch",
    columns=(
        # A date column shows the age, so a time in the future has to be a string.
        PrinterColumn("Next", ".status.next", "The next tick."),
        PrinterColumn("Last", ".status.last", "Time since the last event.", "date"),
        PrinterColumn("Active", ".status.active", "Number of active runs.", "integer"),
        PrinterColumn(
            "Failed", ".status.failed", "Number of events that started no run because of an error.", "integer"
        ),
        PrinterColumn("Suspended", ".spec.suspend", "Whether the Schedule is suspended.", "boolean"),
        PrinterColumn("Ready", '.status.conditions[?(@.type=="Ready")].status', "Whether events start runs."),
        _AGE,
        PrinterColumn("Queued", ".status.queued", "Number of queued runs.", "integer", 1),
        PrinterColumn("Missed", ".status.missed.count", "Number of missed ticks.", "integer", 1),
        PrinterColumn("Last-Run", ".status.lastRun.name", "The last run.", priority=1),
        PrinterColumn("Message", '.status.conditions[?(@.type=="Ready")].message', "Why it is not ready.", priority=1),
    ),
)

_BACKFILL = KindDefinition(
    name="Backfill",
    plural="backfills",
    short="tbf",
    columns=(
        PrinterColumn("Schedule", ".spec.schedule", "Schedule of the runs."),
        PrinterColumn("State", ".status.state", "State of the Backfill."),
        PrinterColumn("Progress", ".status.progress", "Finished ticks of all ticks."),
        PrinterColumn("Active", ".status.active", "Number of active runs.", "integer"),
        PrinterColumn("Failed", ".status.failed", "Number of failed runs.", "integer"),
        _AGE,
        PrinterColumn("From", ".spec.from", "First time of the period.", priority=1),
        PrinterColumn("To", ".spec.to", "End of the period.", priority=1),
    ),
)


def taskruns() -> Schema:
    """Build the CRD of TaskRun."""
    schema = _schema(taskrun.TaskRun, _TASKRUN)
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    spec |= _ATOMIC
    for name in taskrun.ABSENT_DEFAULTS:  # the API server would store a default
        spec["properties"][name].pop("default", None)
    # Required: the API server drops the status from a POST, and only the default makes a new TaskRun Scheduled.
    status["default"] = {"state": state.State.SCHEDULED.value, "attempt": 1, "segment": 0, "launch": 0, "history": []}
    return _crd(_TASKRUN, schema)


def workflows() -> Schema:
    """Build the CRD of Workflow."""
    schema = _schema(workflow.Workflow, _WORKFLOW)
    _leave_to_policy(schema["properties"]["spec"])
    return _crd(_WORKFLOW, schema)


def workflow_templates() -> Schema:
    """Build the CRD of WorkflowTemplate."""
    return _crd(_TEMPLATE, _template_schema(template.WorkflowTemplate, _TEMPLATE))


def cluster_workflow_templates() -> Schema:
    """Build the CRD of ClusterWorkflowTemplate."""
    schema = _template_schema(template.ClusterWorkflowTemplate, _CLUSTER_TEMPLATE)
    allowed = schema["properties"]["spec"]["properties"]["allowedNamespaces"]
    allowed["x-kubernetes-validations"] = cel_rules.allowed_namespaces()
    requirement = allowed["properties"]["selector"]["properties"]["matchExpressions"]["items"]
    requirement["x-kubernetes-validations"] = cel_rules.label_requirement()
    return _crd(_CLUSTER_TEMPLATE, schema)


def _template_schema(model: type[template.WorkflowTemplate], kind: KindDefinition) -> Schema:
    schema = _schema(model, kind)
    _leave_to_policy(schema["properties"]["spec"]["properties"]["workflow"])
    parameter = schema["properties"]["spec"]["properties"]["params"]["items"]
    parameter["x-kubernetes-validations"] = cel_rules.parameter()
    return schema


def schedules() -> Schema:
    """Build the CRD of Schedule."""
    schema = _schema(schedule.Schedule, _SCHEDULE)
    spec = schema["properties"]["spec"]
    spec["x-kubernetes-validations"] = cel_rules.schedule_spec()
    _leave_to_policy(spec["properties"]["workflow"])
    spec["properties"]["sources"]["items"]["x-kubernetes-validations"] = cel_rules.schedule_source()
    return _crd(_SCHEDULE, schema)


def backfills() -> Schema:
    """Build the CRD of Backfill."""
    schema = _schema(backfill.Backfill, _BACKFILL)
    schema["properties"]["spec"]["x-kubernetes-validations"] = cel_rules.backfill_spec()
    return _crd(_BACKFILL, schema)


def _leave_to_policy(spec: Schema) -> None:
    """Remove a pattern from the spec of a Workflow: policy torpor-workflow has it too, and explains it."""
    del spec["properties"]["tasks"]["items"]["properties"]["python"]["pattern"]
    spec["properties"]["bodies"]["additionalProperties"] = body_schemas.body(spec["properties"]["tasks"]["items"])


def _schema(model: type[Model], kind: KindDefinition) -> Schema:
    source = model.model_json_schema(by_alias=True)
    fields = {name: field for name, field in source["properties"].items() if name != "metadata"}
    schema = structural(source | {"properties": fields, "required": ["spec"]})
    schema["properties"] = {
        "apiVersion": _API_VERSION,
        "kind": {"type": "string", "maxLength": 63, "description": f"Kind of this object: {kind.name}."},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    if kind.has_status:
        schema["properties"]["status"] |= _ATOMIC
        if kind is not _TASKRUN:
            schema["properties"]["status"].pop("default", None)
    return schema


def _crd(kind: KindDefinition, schema: Schema) -> Schema:
    version = {
        "name": constants.VERSION,
        "served": True,
        "storage": True,
        **({"subresources": {"status": {}}} if kind.has_status else {}),
        "additionalPrinterColumns": [column.to_json() for column in kind.columns],
        "schema": {"openAPIV3Schema": schema},
    }
    if kind.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{constants.GROUP}"},
        "spec": {
            "group": constants.GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": ["torpor"],
            },
            "versions": [version],
        },
    }
