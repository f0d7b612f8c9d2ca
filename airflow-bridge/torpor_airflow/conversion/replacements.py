"""Operators that need Airflow itself, and what Torpor has instead of them. It reads attributes of operators."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_airflow.conversion import limits, names, operator_kind
from torpor_airflow.conversion.schedule import DagTicks

_NOTHING: Mapping[str, Any] = {"trigger": {"class": "duration", "kwargs": {"duration": "0s"}}, "result": "null"}
_HITL = ("HITLOperator", "ApprovalOperator", "HITLEntryOperator", "HITLBranchOperator")
_OTHER_DATES = ("execution_delta", "execution_date_fn")
_QUESTION_MAX = 1024
_DEFAULT_POOL = "default_pool"
_NO_SLOT = "a task without a pod takes no slot"
_NO_CODE = "it limits code that Torpor does not run"
_ONLY_OPTION = ["OK"]
"""The option of an operator that has no choice: the approval itself says so."""
_RESULT = (
    "{'chosen_options': has(event.options) ? event.options : ['OK'], "
    "'params_input': has(event.fields) ? event.fields : {}, 'responded_at': event.at}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBody:
    """The body of a task without a pod, with what it lacks and what is different."""

    fields: Mapping[str, Any]
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDag:
    """A DAG of the conversion: its logical dates, and the ids of the tasks of each task group."""

    ticks: DagTicks
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDags:
    """The logical dates of the DAG itself, and each DAG of the conversion by its id."""

    own: DagTicks
    known: Mapping[str, KnownDag]


def find(operator: Any, downstream: Mapping[str, str]) -> TaskBody | None:
    """Return the body of a task that does not run the operator, None if a pod runs it.

    `downstream` are the names of its downstream tasks by their ids.
    """
    if operator_kind.is_empty(operator):
        return TaskBody(fields=_NOTHING)
    if operator.is_mapped:
        return None
    if operator_kind.is_a(operator, "TriggerDagRunOperator"):
        return _run(operator)
    if operator_kind.is_a(operator, *_HITL):
        return _approval(operator, downstream)
    return None


def needs_airflow(operator: Any) -> str | None:
    """Return why an operator cannot run without Airflow, None if it can."""
    if operator.is_mapped and operator_kind.is_a(operator, "TriggerDagRunOperator", *_HITL):
        return "a mapped operator that needs Airflow's API"
    return None


def other_run(operator: Any, dags: OtherDags) -> Iterator[tuple[str, bool]]:
    """Yield what a sensor for runs of another DAG waits for, and whether that is a loss."""
    if not operator_kind.is_a(operator, "ExternalTaskSensor"):
        return
    if operator_kind.field(operator, "external_task_group_id") and not group_tasks(operator, dags):
        yield "external_task_group_id: no DAG of this conversion has the group: convert both files together", True
    for name in _OTHER_DATES:
        if operator_kind.field(operator, name):
            yield (
                f"{name}: a run that no tick starts, or that the Schedule has deleted, is awaited until the timeout",
                False,
            )
    dag_id = operator_kind.field(operator, "external_dag_id")
    if not isinstance(dag_id, str) or _is_template(dag_id):
        yield "it waits for a run of the Schedule that has the name of its external_dag_id", False
        return
    other = dags.known.get(dag_id)
    if other is not None and (why := _unlike_dates(dags.own, other.ticks)) is not None:
        yield f"it waits for {dag_id}, {why}", True
    else:
        yield f"it waits for the run of the Schedule {names.object_name(dag_id)} at its time, in its namespace", False


def group_tasks(operator: Any, dags: OtherDags) -> Sequence[str]:
    """Return the tasks of the group of another DAG that a sensor waits for, none for another operator."""
    if not operator_kind.is_a(operator, "ExternalTaskSensor"):
        return ()
    dag_id, group = (operator_kind.field(operator, f"external_{name}_id") for name in ("dag", "task_group"))
    other = dags.known.get(dag_id) if isinstance(dag_id, str) else None
    return other.groups.get(group, ()) if other is not None and isinstance(group, str) else ()


def _unlike_dates(own: DagTicks, other: DagTicks) -> str | None:
    """Return why no run of another DAG has a logical date of this one, None if it can have one."""
    if not other.has_ticks:
        return "which no cron source starts: its runs have no logical date"
    if other.has_intervals != own.has_intervals:
        return "but only one of the two DAGs has data intervals"
    if other.intervals != own.intervals:
        return "but the data intervals of the two DAGs differ"
    return None


def _run(operator: Any) -> TaskBody:
    """Return the task with `run` for TriggerDagRunOperator."""
    target, conf = operator.trigger_dag_id, operator.conf
    losses = []
    if _is_template(target):
        losses.append("a template in trigger_dag_id")
    if conf is not None and (not isinstance(conf, Mapping) or _is_template(conf)):
        losses.append("a template in conf; write run.params.conf")
        conf = None
    losses.extend(f"argument {name}" for name in (*_lost_of_run(operator), *_lost_of_its_task(operator)))
    run: dict[str, Any] = {"templateRef": {"name": names.object_name(str(target))}}
    notes = []
    if operator.trigger_run_id and not _is_template(operator.trigger_run_id):
        run["name"] = names.object_name(operator.trigger_run_id)[:50].strip("-")
        notes.append(f"the run has the name {run['name']}, which no other Workflow may have")
    if conf:
        run["params"] = {"conf": dict(conf)}
    if not operator.wait_for_completion:
        run["wait"] = False
    elif operator.execution_timeout is not None and not operator.deferrable:
        run["timeout"] = limits.duration(operator.execution_timeout)
        notes.append("execution_timeout: the run is cancelled after it")
    notes.extend(_notes_of_run(operator, run))
    return TaskBody(fields={"run": run}, losses=tuple(losses), notes=tuple(notes))


def _lost_of_run(operator: Any) -> Iterator[str]:
    """Yield the arguments of a TriggerDagRunOperator that a task with `run` does not have."""
    for name in ("logical_date", "run_after", "fail_when_dag_is_paused", "note"):
        value = getattr(operator, name, None)
        if value and not _is_unset(value):
            yield name
    if operator.trigger_run_id:  # otherwise each run is a new one
        for name in ("reset_dag_run", "skip_when_already_exists"):
            if getattr(operator, name, None):
                yield name
        if _is_template(operator.trigger_run_id):
            yield "trigger_run_id"
    if operator.wait_for_completion:
        for name, usual in (("allowed_states", ["success"]), ("failed_states", ["failed"])):
            if [str(getattr(each, "value", each)) for each in getattr(operator, name)] != usual:
                yield name


def _lost_of_its_task(operator: Any) -> Iterator[str]:
    """Yield what every operator may have, and a task with `run` does not."""
    yield from (name for name in operator_kind.CALLBACKS if getattr(operator, name, None))
    if operator.wait_for_completion and not operator.deferrable and operator.pool != _DEFAULT_POOL:
        yield f"pool {operator.pool}: {_NO_SLOT}"


def _notes_of_run(operator: Any, run: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a TriggerDagRunOperator only limits its code, which Torpor does not run."""
    if operator.pool != _DEFAULT_POOL and (operator.deferrable or not operator.wait_for_completion):
        yield f"pool {operator.pool}: {_NO_SLOT}"
    if operator.execution_timeout is not None and "timeout" not in run:
        yield f"execution_timeout: {_NO_CODE}"


def _notes_of_approval(operator: Any, question: str) -> Iterator[str]:
    """Yield what of a HITL operator only limits its code, and how much of its question is left."""
    yield "torpor approve answers it"
    if operator.pool != _DEFAULT_POOL:
        yield f"pool {operator.pool}: {_NO_SLOT}"
    if operator.execution_timeout is not None:
        yield f"execution_timeout: {_NO_CODE}"
    if len(question) > _QUESTION_MAX:
        yield f"subject and body have {len(question)} characters: the question has the first {_QUESTION_MAX}"


def _approval(operator: Any, downstream: Mapping[str, str]) -> TaskBody:
    """Return the approval for a HITL operator, whose result has the keys that Airflow's has."""
    losses = [f"a template in {name}" for name in ("subject", "body") if _is_template(getattr(operator, name))]
    losses += [f"argument {name}" for name in ("notifiers", *operator_kind.CALLBACKS) if getattr(operator, name, None)]
    is_approval = operator_kind.is_a(operator, "ApprovalOperator")
    question = " ".join(str(each) for each in (operator.subject, operator.body) if each)
    kwargs: dict[str, Any] = {"question": question[:_QUESTION_MAX].replace("${", "$${")}
    has_options = not is_approval and [*operator.options] != _ONLY_OPTION
    if has_options:
        kwargs |= {"options": [*operator.options]} | ({"multiple": True} if operator.multiple else {})
    if fields := [_field(name, value, losses) for name, value in operator.params.dump().items()]:
        kwargs["fields"] = fields
    if users := [str(each["id"]) for each in operator.assigned_users or ()]:
        kwargs["approvers"] = {"users": users}
    if operator.defaults:
        chosen = [*operator.defaults]
        is_approved = not is_approval or chosen != ["Reject"]
        kwargs["default"] = {"approved": is_approved} | ({"options": chosen} if has_options else {})
    trigger: dict[str, Any] = {"class": "approval", "kwargs": kwargs}
    if operator.response_timeout is not None:
        trigger["timeout"] = f"{operator.response_timeout.total_seconds():g}s"
    body = {"trigger": trigger, **_answer(operator, downstream, is_approval=is_approval, losses=losses)}
    return TaskBody(fields=body, losses=tuple(losses), notes=tuple(_notes_of_approval(operator, question)))


def _answer(operator: Any, downstream: Mapping[str, str], *, is_approval: bool, losses: list[str]) -> dict[str, Any]:
    """Return what of the answer is the result, or chooses the tasks that run."""
    if operator_kind.is_a(operator, "HITLBranchOperator"):
        if getattr(operator, "options_mapping", None) or any(downstream.get(each) != each for each in operator.options):
            losses.append("options that are not names of downstream tasks")
        return {"branch": True, "result": "event.options"}
    if is_approval and getattr(operator, "fail_on_reject", False):
        return {"failWhen": "!event.approved"}
    if is_approval:
        return {"branch": True, "result": f"event.approved ? {sorted(downstream.values())} : []"}
    return {"failWhen": "!event.approved", "result": _RESULT}


def _field(name: str, value: Any, losses: list[str]) -> Mapping[str, Any]:
    kind = {bool: "boolean", int: "integer", float: "number"}.get(type(value), "string")
    if not names.is_param_name(name):
        losses.append(f"the name of the param {name}")
    return {"name": name, "type": kind} | ({"required": False} if value in {None, ""} else {"default": value})


def _is_template(value: Any) -> bool:
    match value:
        case str():
            return "{{" in value or "{%" in value
        case Mapping():
            return any(map(_is_template, value.values()))
        case list() | tuple():
            return any(map(_is_template, value))
        case _:
            return hasattr(value, "iter_references")


def _is_unset(value: Any) -> bool:
    return type(value).__name__ == "ArgNotSet"
