"""A DAG as a WorkflowTemplate and a Schedule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_airflow.conversion import asset_events, limits, mapping, names, params, schedule, tasks
from torpor_airflow.conversion.finding import ConversionFinding
from torpor_airflow.conversion.replacements import KnownDag, OtherDags
from torpor_airflow.conversion.schedule import AssetProducer, Producers

API_VERSION = "torpor.dev/v1alpha1"
PYTHON = "torpor_airflow.operators:AirflowOperator"
_DAG_CALLBACKS = ("on_success_callback", "on_failure_callback", "deadline")
_PARALLELISM_MAX = 10_000
_DESCRIPTION_MAX = 4096
_NO_DAGS: Mapping[str, KnownDag] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionTarget:
    """Where the tasks run: their image, the pool of their waits, and the ConfigMap with their files, if any.

    `connections`: `SECRET/KEY` by connection.
    """

    image: str
    pool: str
    config_map: str = ""
    connections: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DagConversion:
    """The documents of a DAG, and what they leave out."""

    dag_id: str
    documents: Sequence[Mapping[str, Any]]
    findings: Sequence[ConversionFinding]

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the DAG is lost."""
        return not any(finding.is_loss for finding in self.findings)


def producers(dags: Sequence[Any]) -> Producers:
    """Return the DAGs that update each asset."""
    found: dict[str, list[AssetProducer]] = {}
    for dag in dags:
        made = AssetProducer(dag_id=dag.dag_id, is_scheduled=schedule.convert(dag, {}).has_sources)
        uris = {outlet.uri for task in dag.tasks for outlet in task.outlets or () if hasattr(outlet, "uri")}
        for uri in sorted(uris):
            found.setdefault(uri, []).append(made)
    return found


def known_dags(dags: Sequence[Any]) -> Mapping[str, KnownDag]:
    """Return what a task of one DAG may need to know of the others."""
    found = {}
    for dag in dags:
        groups = {group: [task.task_id for task in each.iter_tasks()] for group, each in dag.task_group_dict.items()}
        found[dag.dag_id] = KnownDag(ticks=schedule.ticks(dag), groups=groups)
    return found


def convert(
    dag: Any, module: str, target: ConversionTarget, made_by: Producers, known: Mapping[str, KnownDag] = _NO_DAGS
) -> DagConversion:
    """Return the documents of a DAG of a module. `known` are the DAGs of the conversion."""
    name = names.object_name(dag.dag_id)
    declared, others = params.convert({key: dag.params.get_param(key) for key in dag.params})
    findings = [
        ConversionFinding(subject=dag.dag_id, text=f"param {each}: set it in the param conf", is_loss=False)
        for each in others
    ]
    planned = schedule.convert(dag, made_by)
    events = asset_events.param(planned.asset_sources) if planned.asset_sources else None
    is_free = all(each["name"] != asset_events.PARAM for each in declared)
    gets_events = events is not None and is_free and asset_events.reads_events(dag.tasks)
    workflow, task_findings = _workflow(dag, module, target, declared, known, gets_events=gets_events)
    findings += [*_dag_findings(dag), *task_findings]
    if gets_events:
        declared = [*declared, {"name": asset_events.PARAM, "type": "array", "default": []}]
    spec: dict[str, Any] = {"params": declared, "workflow": workflow}
    if dag.description:
        spec = {"description": str(dag.description)[:_DESCRIPTION_MAX], **spec}
    documents = [_document("WorkflowTemplate", name, spec)]
    findings += [ConversionFinding(subject=dag.dag_id, text=text) for text in planned.losses]
    findings += [ConversionFinding(subject=dag.dag_id, text=text, is_loss=False) for text in planned.notes]
    if planned.has_sources:
        given = {"params": {asset_events.PARAM: events}} if gets_events else {}
        documents.append(_document("Schedule", name, {**planned.spec, "templateRef": {"name": name}, **given}))
    return DagConversion(dag_id=dag.dag_id, documents=documents, findings=findings)


def _document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _workflow(  # noqa: PLR0913 - what a template is made of
    dag: Any,
    module: str,
    target: ConversionTarget,
    declared: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownDag],
    *,
    gets_events: bool,
) -> tuple[dict[str, Any], Sequence[ConversionFinding]]:
    operators = list(dag.topological_sort())
    found = tasks.DagTasks(operators=operators, names=names.task_names(dag.task_ids), nodes=tasks.nodes(operators))
    converter = tasks.TaskConverter(
        found,
        known_connections=target.connections.keys(),
        other_dags=OtherDags(own=schedule.ticks(dag), known=known),
        gets_events=gets_events,
    )
    workflow: dict[str, Any] = {"image": target.image, "triggerPool": target.pool}
    if target.config_map:
        workflow["source"] = {"configMap": target.config_map}
    if target.connections:
        workflow["defaults"] = {"pod": {"env": [*_variables(target.connections)]}}
    if dag.max_active_tasks:
        workflow["parallelism"] = min(int(dag.max_active_tasks), _PARALLELISM_MAX)
    if dag.dagrun_timeout is not None:
        workflow["timeout"] = limits.duration(dag.dagrun_timeout)
    converted = converter.convert()
    try:
        groups = converter.groups()
    except mapping.UnmappableError as error:
        converter.findings.append(ConversionFinding(subject=dag.dag_id, text=str(error)))
        groups = []
    if groups:
        workflow["groups"] = groups
    if any(each.get("use") for each in converted):
        args = _args(dag, module, declared, target)
        if gets_events:
            args[asset_events.PARAM] = f"${{params.{asset_events.PARAM}}}"
        workflow["bodies"] = {tasks.BODY: {"python": PYTHON, "args": args}}
    writing = [each["name"] for each in converted if each.get("args", {}).get(tasks.WRITES_EVENTS)]
    if result := asset_events.run_result(operators, found.names, writing):
        workflow["result"] = result
    return {**workflow, "tasks": converted}, converter.findings


def _variables(connections: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the variables of the pods in which Airflow finds its connections."""
    for name, reference in sorted(connections.items()):
        secret, _, key = reference.partition("/")
        yield {"name": f"AIRFLOW_CONN_{name.upper()}", "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _args(dag: Any, module: str, declared: Sequence[Mapping[str, Any]], target: ConversionTarget) -> dict[str, Any]:
    """Return the arguments that all operators have."""
    args: dict[str, Any] = {"dag": f"{module}:{dag.dag_id}", "logical_date": "${run.at}", "conf": "${params.conf}"}
    own = [str(each["name"]) for each in declared if each["name"] != "conf"]
    if own:
        args["params"] = {name: f"${{params.{name}}}" for name in own}
    if sources := schedule.ticks(dag).sources:
        args["scheduled"] = f"${{{' || '.join(f'run.source == {name!r}' for name in sources)}}}"
    if target.connections:
        args["connections"] = dict(sorted(target.connections.items()))
    return args


def _dag_findings(dag: Any) -> Iterator[ConversionFinding]:
    for name in _DAG_CALLBACKS:
        if getattr(dag, name, None):
            yield ConversionFinding(subject=dag.dag_id, text=f"argument {name} of the DAG: write a hook, or notify")
    if dag.allowed_run_types:
        text = "argument allowed_run_types of the DAG: each account that may create Workflows can start a run by hand"
        yield ConversionFinding(subject=dag.dag_id, text=text)
    if (dag.max_active_tasks or 0) > _PARALLELISM_MAX:
        text = f"max_active_tasks {dag.max_active_tasks}: at most {_PARALLELISM_MAX}"
        yield ConversionFinding(subject=dag.dag_id, text=text, is_loss=False)
    if len(str(dag.description or "")) > _DESCRIPTION_MAX:
        text = f"description: the first {_DESCRIPTION_MAX} characters"
        yield ConversionFinding(subject=dag.dag_id, text=text, is_loss=False)
    if dag.fail_fast:
        yield ConversionFinding(subject=dag.dag_id, text="argument fail_fast of the DAG")
    if dag.tags:
        text = f"tags {', '.join(sorted(dag.tags))}: add labels or annotations"
        yield ConversionFinding(subject=dag.dag_id, text=text, is_loss=False)
    if not dag.task_ids:
        yield ConversionFinding(subject=dag.dag_id, text="a DAG without tasks")
