"""Builds the operator, its DAG and Airflow's task instance from what the task of Torpor is given."""

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from airflow.sdk import DAG, BaseOperator
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.api.datamodels._generated import DagRun, DagRunState, DagRunType, TIRunContext
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.sdk.serde import serialize
from torpor import Context
from torpor_wire import typed_json

from torpor_airflow import serde
from torpor_airflow.operators import asset_events
from torpor_airflow.operators.call import UNMAPPED, OperatorCall, ResumeMethod, SegmentState, may_retry, task_key

TASK_FIELDS = {"task_id", "dag", "retries", "retry_delay", "trigger_rule", "pool", "queue"}
"""Arguments of an operator that are fields of a task of Torpor."""


class InvalidOperatorError(ValueError):
    """The task names no operator, or gives it arguments that it does not take."""


def build_operator(call: OperatorCall, context: Context) -> BaseOperator:
    """Return the operator in a DAG of its own, with the downstream tasks of a branch. Raises InvalidOperatorError."""
    operator_class = _load(call.operator)
    ignored = sorted(TASK_FIELDS & call.arguments.keys())
    if ignored:
        raise InvalidOperatorError(f"argument {ignored[0]} of the operator is a field of the task, or its name")
    with DAG(dag_id=context.workflow, schedule=None, params=dict(call.params), render_template_as_native_obj=False):
        try:
            operator = operator_class(task_id=context.task, **serde.decode(typed_json.decode(call.arguments)))
        except TypeError as error:
            raise InvalidOperatorError(f"{call.operator}: {error}") from error
        for name in call.downstream:
            operator.set_downstream(BaseOperator(task_id=name))
    return operator


def build_task_instance(
    operator: BaseOperator, call: OperatorCall, context: Context, state: SegmentState, resume: ResumeMethod | None
) -> RuntimeTaskInstance:
    """Return the task instance of a segment, with the context that Airflow's API would send."""
    now = datetime.now(UTC)
    retries = int(operator.retries or 0) if call.retries is None else call.retries
    start, end = call.data_interval or (call.logical_date, call.logical_date)
    run = DagRun(
        dag_id=operator.dag.dag_id,
        run_id=context.workflow,
        logical_date=call.logical_date,
        data_interval_start=start,
        data_interval_end=end,
        run_after=call.logical_date or now,
        start_date=now,
        end_date=None,
        run_type=DagRunType.SCHEDULED if call.is_scheduled else DagRunType.MANUAL,
        state=DagRunState.RUNNING,
        consumed_asset_events=asset_events.consumed(call.asset_events, now),
        partition_key=None,
        conf=dict(call.conf),
    )
    given = TIRunContext(
        dag_run=run,
        task_reschedule_count=state.reschedules,
        max_tries=retries,
        should_retry=may_retry(context.attempt, retries),  # Airflow chooses the callback by it
        next_method=None if resume is None else resume.method,
        next_kwargs=None if resume is None else serialize(dict(resume.kwargs)),
    )
    instance = RuntimeTaskInstance.model_construct(
        id=_uuid(context),
        task_id=operator.task_id,
        dag_id=operator.dag.dag_id,
        run_id=context.workflow,
        try_number=context.attempt,
        dag_version_id=_uuid(context),
        map_index=context.group_indexes[-1] if context.group_indexes else context.map_index,
        task=operator,
        bundle_instance=None,
        start_date=now,
        max_tries=retries,
        context_carrier=None,
        hostname=None,
        queue="default",
    )
    instance._ti_context_from_server = given  # noqa: SLF001 - as Airflow's own `parse` does
    instance._upstream_map_indexes = _indexes_in_groups(operator, call)  # noqa: SLF001 - as Airflow's API sends them
    return instance


def _indexes_in_groups(operator: BaseOperator, call: OperatorCall) -> dict[str, list[int] | None]:
    """Return the indexes that the operator sees of each task in a mapped group; None for the same index."""
    seen: dict[str, list[int] | None] = {}
    for each in operator.dag.tasks:
        xcoms = call.xcoms.get(task_key(each.task_id))
        if xcoms is not None and each.get_closest_mapped_task_group() is not None:
            seen[each.task_id] = None if UNMAPPED in xcoms.by_index else sorted(xcoms.by_index)
    return seen


def _load(path: str) -> Any:
    try:
        operator_class = import_string(path)
    except ImportError as error:
        raise InvalidOperatorError(f"there is no class {path} in this image: {error}") from error
    if not (isinstance(operator_class, type) and issubclass(operator_class, BaseOperator)):
        raise InvalidOperatorError(f"{path} is not an operator of Airflow")
    return operator_class


def _uuid(context: Context) -> UUID:
    try:
        return UUID(context.uid)
    except ValueError:
        return uuid5(NAMESPACE_URL, context.uid)
