"""The tasks of a DAG as tasks of a Workflow: one for each operator, which finds its operator in the DAG file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from torpor_wire.enums import TriggerRule

from torpor_airflow.conversion import asset_events, context_use, limits, mapping, operator_kind, outcomes, replacements
from torpor_airflow.conversion.finding import ConversionFinding
from torpor_airflow.conversion.outcomes import DagNode
from torpor_airflow.conversion.replacements import OtherDags
from torpor_airflow.operators.call import XCOM_PREFIX

WRITES_EVENTS = "outlet_events"
"""The argument of a task whose result has the events of its outlets."""
BODY = "airflow"
"""The body of the tasks that run an operator."""
_TEARDOWN_RULE = "all_done_setup_success"
_LOST = (
    "depends_on_past",
    "wait_for_downstream",
    "executor",
    "executor_config",
    "max_active_tis_per_dag",
    "run_as_user",
)
_DEFAULT_QUEUES = {None, "default"}
_DEFAULT_POOLS = {None, "default_pool"}
_DEFAULT_WEIGHTS = (None, 1, "downstream")
_XCOMS_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DagTasks:
    """The operators of a DAG in topological order, their names in Torpor, and their rules."""

    operators: Sequence[Any]
    names: Mapping[str, str]
    nodes: Sequence[DagNode]

    def upstream(self) -> Mapping[str, AbstractSet[str]]:
        """Return the upstream tasks of each task, by their ids."""
        return {node.name: node.upstream for node in self.nodes}


def nodes(operators: Sequence[Any]) -> Sequence[DagNode]:
    """Return what decides on the outcome of a run."""
    return [
        DagNode(
            name=each.task_id,
            rule=rule(each),
            upstream=frozenset(each.upstream_task_ids),
            is_teardown=bool(each.is_teardown),
            fails_run=bool(each.on_failure_fail_dagrun),
        )
        for each in operators
    ]


def rule(operator: Any) -> str:
    """Return the trigger rule in Torpor. A teardown runs if its setup has: `when` says so."""
    value = str(operator.trigger_rule.value)
    return TriggerRule.ALL_DONE.value if value == _TEARDOWN_RULE else value


class TaskConverter:
    """Converts the tasks of one DAG, and collects what has no counterpart."""

    def __init__(
        self, dag: DagTasks, known_connections: Collection[str], other_dags: OtherDags, *, gets_events: bool = False
    ) -> None:
        self._gets_events = gets_events
        self._dag = dag
        self._other_dags = other_dags
        self._known_connections = known_connections
        self._tolerated = outcomes.may_fail(dag.nodes)
        self._also_after: dict[str, set[str]] = {}
        self._branches: set[str] = set()
        self.findings: list[ConversionFinding] = []

    def convert(self) -> list[dict[str, Any]]:
        """Return the tasks."""
        for operator in self._dag.operators:
            if operator_kind.is_a(operator, "ShortCircuitOperator"):
                self._short_circuit(operator)
        return [self._task(operator) for operator in self._dag.operators]

    def groups(self) -> list[dict[str, Any]]:
        """Return the mapped groups."""
        found = {}
        for operator in self._dag.operators:
            group = operator.get_closest_mapped_task_group()
            if group is not None and group.group_id not in found:
                expand = mapping.expand(group._expand_input, self._result_of)  # noqa: SLF001 - no public form
                found[group.group_id] = {"name": group_name(group, self._dag.names), "expand": expand}
        return [*found.values()]

    def _lose(self, operator: Any, text: str, *, is_loss: bool = True) -> None:
        self.findings.append(ConversionFinding(subject=operator.task_id, text=text, is_loss=is_loss))

    def _task(self, operator: Any) -> dict[str, Any]:
        downstream = {each: self._dag.names[each] for each in sorted(operator.downstream_task_ids)}
        task: dict[str, Any] = {"name": self._dag.names[operator.task_id]}
        if operator.task_display_name != operator.task_id and "${" not in operator.task_display_name:
            task["displayName"] = operator.task_display_name
        after = sorted(self._dag.names[each] for each in self._after(operator))
        task |= {"after": after} if after else {}
        if (decided := rule(operator)) != TriggerRule.ALL_SUCCESS:
            task["rule"] = decided
        task |= self._group(operator)
        body = replacements.find(operator, downstream)
        if body is None:
            task |= self._pod(operator)
        else:
            task |= body.fields
            for text in body.losses:
                self._lose(operator, text)
            for text in body.notes:
                self._lose(operator, text, is_loss=False)
        if task.get("branch"):
            self._branches.add(operator.task_id)
        return task | self._limits(operator, has_pod=body is None) | self._outcome(operator)

    def _after(self, operator: Any) -> AbstractSet[str]:
        return set(operator.upstream_task_ids) | self._also_after.get(operator.task_id, set())

    def _group(self, operator: Any) -> dict[str, Any]:
        group = operator.get_closest_mapped_task_group()
        return {} if group is None else {"group": group_name(group, self._dag.names)}

    def _pod(self, operator: Any) -> dict[str, Any]:
        """Return the fields of a task whose pod runs the operator."""
        if (why := replacements.needs_airflow(operator)) is not None:
            self._lose(operator, why)
        for text, is_loss in replacements.other_run(operator, self._other_dags):
            self._lose(operator, text, is_loss=is_loss)
        args: dict[str, Any] = {"task": operator.task_id}
        if awaited := replacements.group_tasks(operator, self._other_dags):
            args["external_tasks"] = [*awaited]
        if asset_events.writes_events(operator):
            args[WRITES_EVENTS] = True
        fields: dict[str, Any] = {}
        if operator_kind.chooses(operator) and operator.downstream_task_ids:
            chosen = sorted(operator.downstream_task_ids | self._directly_after(operator.task_id))
            names = {each: self._dag.names[each] for each in chosen}
            args["downstream"] = chosen if chosen == [*names.values()] else names
            fields["branch"] = True
        args |= {f"{XCOM_PREFIX}{self._dag.names[each]}": self._xcom(operator, each) for each in self._xcoms(operator)}
        if operator.is_mapped:
            try:
                fields["expand"] = mapping.expand(operator._get_specified_expand_input(), self._result_of)  # noqa: SLF001
            except mapping.UnmappableError as error:
                self._lose(operator, str(error))
        return {"use": BODY, **fields, "args": args}

    def _directly_after(self, task_id: str) -> set[str]:
        return {each for each, added in self._also_after.items() if task_id in added}

    def _xcoms(self, operator: Any) -> Sequence[str]:
        """Return the tasks whose XComs the operator may read."""
        before = outcomes.ancestors(operator.task_id, self._dag.upstream())
        read = set(operator_kind.references(operator))
        pulled = operator_kind.pulls(operator, [*self._dag.names])
        named = read | (pulled or set())
        if pulled is None:
            self._lose(operator, "XComs are pulled by computed names: each one before it is passed", is_loss=False)
            pulled = before
        for each in sorted((read | pulled) & self._branches):
            self._lose(operator, f"the XCom of {each}, which keeps only the tasks that it chose", is_loss=each in named)
        for each in sorted(pulled - before - {operator.task_id} - read):
            self._lose(operator, f"the XCom of {each}, which may not have ended: add it to `after`, or pass no XCom")
        found = sorted(read | (pulled & before))
        for each in found[_XCOMS_MAX:]:
            self._lose(operator, f"the XCom of {each}: a task has up to {_XCOMS_MAX} of them")
        return found[:_XCOMS_MAX]

    def _operator(self, task_id: str) -> Any:
        return next(each for each in self._dag.operators if each.task_id == task_id)

    def _xcom(self, reader: Any, task_id: str) -> str:
        """Return the expression of the XComs of a task, as another one sees them."""
        source = self._operator(task_id)
        inner, outer = source.get_closest_mapped_task_group(), reader.get_closest_mapped_task_group()
        several = source.is_mapped or (inner is not None and inner is not outer)
        return f"${{tasks.{self._dag.names[task_id]}.{'results' if several else 'result'}}}"

    def _result_of(self, operator: Any) -> str:
        """Return the expression of the value that a task returned, or of the list of them. It may need parentheses."""
        several = operator.is_mapped or operator.get_closest_mapped_task_group() is not None
        result = f"tasks.{self._dag.names[operator.task_id]}.{'results' if several else 'result'}"
        if asset_events.writes_events(operator):
            return f"{result}.__xcoms__.return_value"
        if not operator_kind.pushes_more(operator):
            return result
        text = "a task that is mapped over its result needs one of up to 8 kB, since links or other XComs are beside it"
        if not any(each.subject == operator.task_id and each.text == text for each in self.findings):
            self._lose(operator, text, is_loss=False)
        return mapping.returned_values(result) if several else mapping.returned_value(result)

    def _outcome(self, operator: Any) -> dict[str, Any]:
        """Return `mayFail`, and `when` of a teardown."""
        fields: dict[str, Any] = {"mayFail": True} if operator.task_id in self._tolerated else {}
        setups = [each for each in sorted(operator.upstream_task_ids) if self._operator(each).is_setup]
        if operator.is_teardown and setups:
            fields["when"] = " || ".join(f"tasks.{self._dag.names[each]}.state == 'Succeeded'" for each in setups)
        return fields

    def _short_circuit(self, operator: Any) -> None:
        """Let what Airflow skips come directly after the short circuit."""
        only_direct = not getattr(operator, "ignore_downstream_trigger_rules", True)
        direct, impossible = outcomes.skipped_by(operator.task_id, self._dag.nodes, only_direct=only_direct)
        for each in direct:
            if each not in operator.downstream_task_ids:
                self._also_after.setdefault(each, set()).add(operator.task_id)
        for each in impossible:
            self._lose(operator, f"it skips {each}, whose rule would let it run")

    def _limits(self, operator: Any, *, has_pod: bool) -> dict[str, Any]:
        """Return retries and limits, and report those that have no counterpart."""
        fields: dict[str, Any] = {}
        if operator.retries:
            fields["retries"] = limits.retries(operator)
        pool = operator_kind.field(operator, "pool")
        if pool not in _DEFAULT_POOLS and has_pod:
            fields["pool"] = str(pool)[:40]
            self._lose(operator, f"pool {pool}: add it to the ConfigMap torpor-pools", is_loss=False)
        active = limits.max_active(operator)
        if active and ("group" in self._group(operator) or operator.is_mapped):
            fields["maxActive"] = active
        for text, is_loss in (
            *limits.findings(operator),
            *_unused(operator, self._known_connections),
            *(context_use.findings(operator, gets_events=self._gets_events) if has_pod else ()),
        ):
            self._lose(operator, text, is_loss=is_loss)
        return fields


def group_name(group: Any, names: Mapping[str, str]) -> str:
    """Return the name of a mapped group, which no task has."""
    from torpor_airflow.conversion.names import task_names  # noqa: PLC0415

    return task_names([*names, f"{group.group_id}"])[group.group_id]


def _unused(operator: Any, known_connections: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield what of an operator has no counterpart, and whether that is a loss."""
    for name in _LOST:
        if operator_kind.field(operator, name):
            yield f"argument {name}", True
    for name, counterpart in (("start_date", "notBefore"), ("end_date", "notAfter")):
        own = operator_kind.field(operator, name)
        if own is not None and own != getattr(operator.dag, name):
            yield f"argument {name}: the Schedule has {counterpart} for all tasks", True
    if operator_kind.field(operator, "queue") not in _DEFAULT_QUEUES:
        yield f"queue {operator_kind.field(operator, 'queue')}: write pod, or queue for Kueue", True
    if (operator_kind.field(operator, "pool_slots") or 1) > 1:
        yield "pool_slots: an instance takes one slot", True
    yield from ((text, False) for text in _notes(operator))
    if operator_kind.field(operator, "email"):
        yield "email: write notify", True
    for name, value in sorted((vars(operator).get("_BaseOperator__init_kwargs") or {}).items()):
        if name.endswith("conn_id") and isinstance(value, str) and value not in known_connections:
            added = f"add AIRFLOW_CONN_{value.upper()} to pod.env, and args.connections"
            yield f"connection {value}: {added}; or convert with --connection {value}=SECRET/KEY", False


def _notes(operator: Any) -> Iterator[str]:
    """Yield what of an operator has no counterpart, and changes no result."""
    for name in ("priority_weight", "weight_rule"):
        if operator_kind.field(operator, name) not in _DEFAULT_WEIGHTS:
            yield f"{name}: free slots go to the Workflow with the fewest"
    if operator_kind.field(operator, "map_index_template"):
        yield "map_index_template: write displayName"
    if operator_kind.field(operator, "retry_policy") is not None:
        yield "the delays of retry_policy: `delay` applies"
