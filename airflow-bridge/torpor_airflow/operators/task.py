"""The python task that runs an operator of Airflow: `python: torpor_airflow.operators:AirflowOperator`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from airflow.sdk import Asset
from airflow.sdk import serde as airflow_serde
from airflow.sdk.execution_time import comms
from torpor import BaseOperator, Context, TaskFailed, TaskSkipped
from torpor.triggers import Time
from torpor_wire import canonical

from torpor_airflow import serde
from torpor_airflow.connections import scope
from torpor_airflow.connections.scope import VisibleSecrets
from torpor_airflow.operators import asset_events as events
from torpor_airflow.operators import call, dag_task, deferral, external_task, hidden_texts, links, runner, task_instance
from torpor_airflow.operators.call import OperatorCall, ResumeMethod, SegmentState
from torpor_airflow.operators.supervisor import InProcessSupervisor

TRIGGER_TIMEOUT = ResumeMethod(method="__fail__", kwargs={"error": "Trigger timeout"})
"""How Airflow resumes a task whose trigger did not fire in time."""


class AirflowOperator(BaseOperator):
    """Runs an operator or a sensor of Airflow. Its result is the XCom `return_value`, or all XComs if it pushes others.

    The operator is a class with arguments, or a task of a DAG file.

    Args:
        operator: The class path.
        arguments: The arguments of the class, without `task_id`.
        dag: Instead of `operator`: `module:dag_id`, a DAG of a module that can be imported.
        task: The `task_id` of the operator in `dag`.
        params: What templates see as `params`.
        conf: What templates see as `dag_run.conf`.
        logical_date: A moment such as `2026-11-26T06:00:00Z`: `ds`, `ts` and `logical_date` of templates.
        data_interval: Its start and end. By default, a `dag` computes it from its timetable.
        scheduled: Whether a tick of a Schedule or of a Backfill started the run, at `logical_date`: `dag_run.run_type`
            is then `scheduled`, otherwise `manual`. A `dag` whose timetable has data intervals then has the start of
            its interval as logical date.
        retries: The limit of retries of the task, by which Airflow chooses between `on_retry_callback` and
            `on_failure_callback`. By default that of the operator.
        connections: `SECRET/KEY` or `configmap/NAME/KEY` by connection, for the triggers of deferrable operators. The
            pod itself has `AIRFLOW_CONN_…` variables.
        variables: The same by variable of Airflow. The pod itself has `AIRFLOW_VAR_…` variables.
        downstream: The tasks after this one, for an operator that chooses between them: their names, or their names by
            their ids in Airflow.
        external_tasks: The tasks of the group that an ExternalTaskSensor with `external_task_group_id` waits for.
        asset_events: The events of assets that started the run, for `triggering_asset_events`: objects with `name`,
            `uri` and `extra`.
        outlet_events: Whether the result has the events of the outlets with their extras, under `__assets__`.
        others: `xcom_<task>`: the result of another task, for `ti.xcom_pull`. `mapped_<argument>`: the items of an
            instance, which the operator of a `dag` reads by its index from its own XComs.
    """

    def __init__(  # noqa: PLR0913 - the arguments of a task are its fields
        self,
        *,
        operator: str = "",
        arguments: Mapping[str, Any] | None = None,
        dag: str = "",
        task: str = "",
        params: Mapping[str, Any] | None = None,
        conf: Mapping[str, Any] | None = None,
        logical_date: str | None = None,
        data_interval: Sequence[str] | None = None,
        scheduled: bool = False,
        retries: int | None = None,
        connections: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        downstream: Sequence[str] | Mapping[str, str] = (),
        external_tasks: Sequence[str] = (),
        asset_events: Sequence[Mapping[str, Any]] = (),
        outlet_events: bool = False,
        **others: Any,
    ) -> None:
        super().__init__()
        unknown = [name for name in others if not name.startswith((call.XCOM_PREFIX, call.MAPPED_PREFIX))]
        if unknown:
            raise TypeError(f"unexpected argument {unknown[0]!r}; results of other tasks are {call.XCOM_PREFIX}<task>")
        if bool(operator) == bool(dag and task):
            raise TypeError("set operator, or dag and task")
        interval = [call.parse_moment(each, "data_interval") for each in data_interval or ()]
        self._connections = deferral.parse_references(connections or {}, "connections")
        self._variables = deferral.parse_references(variables or {}, "variables")
        self._call = OperatorCall(
            operator=operator,
            arguments=arguments or {},
            dag=dag,
            task=task,
            params=params or {},
            conf=conf or {},
            is_scheduled=scheduled,
            retries=retries,
            logical_date=call.parse_moment(logical_date, "logical_date"),
            data_interval=(interval[0], interval[1]) if len(interval) == 2 and all(interval) else None,  # type: ignore[arg-type]  # noqa: PLR2004
            xcoms={
                call.task_key(name.removeprefix(call.XCOM_PREFIX)): call.read_xcoms(value)
                for name, value in others.items()
                if name.startswith(call.XCOM_PREFIX)
            },
            asset_events=events.parse(asset_events),
            downstream=downstream if isinstance(downstream, Mapping) else {name: name for name in downstream},
            external_tasks=external_tasks,
        )
        self._lists_outlets = outlet_events
        self._running: Any = None

    def execute(self, context: Context, event: object = None) -> Any:  # noqa: ARG002 - the event of a `trigger:` of the task
        """Run the operator from its beginning."""
        return self._run(context, SegmentState(), None)

    def resume(
        self, context: Context, event: object, method: str, kwargs: dict[str, Any], state: dict[str, Any]
    ) -> Any:
        """Resume in a method of the operator, with the event of its trigger."""
        return self._run(
            context, SegmentState(**state), ResumeMethod(method=method, kwargs={**serde.decode(kwargs), "event": event})
        )

    def resume_late(self, context: Context, method: str, kwargs: dict[str, Any], state: dict[str, Any]) -> Any:  # noqa: ARG002 - those of `resume`
        """Fail as Airflow does if the trigger did not fire in time: a sensor with `soft_fail` is skipped."""
        return self._run(context, SegmentState(**state), TRIGGER_TIMEOUT)

    def poke_again(self, context: Context, event: object, state: dict[str, Any]) -> Any:  # noqa: ARG002 - the event is only a time
        """Execute a sensor in mode `reschedule` again."""
        return self._run(context, SegmentState(**state), None)

    def on_kill(self) -> None:
        """Let the operator stop what it has started elsewhere."""
        if self._running is not None:
            self._running.task.on_kill()

    def _run(self, context: Context, state: SegmentState, resume: ResumeMethod | None) -> Any:
        scope.activate(VisibleSecrets(namespace=context.namespace))
        if self._call.dag:
            operator = dag_task.find(self._call)
            run = dag_task.complete(self._call, operator.dag)
        else:
            operator, run = task_instance.build_operator(self._call, context), self._call
        external_task.prepare(operator)
        instance = task_instance.build_task_instance(operator, run, context, state, resume)
        self._running = instance
        assets = dag_task.assets(self._call) if self._call.dag else ()
        supervisor = InProcessSupervisor(
            dag_id=instance.dag_id,
            run_id=instance.run_id,
            task_id=operator.task_id,
            xcoms=run.xcoms,
            state=state,
            assets=assets,
        )
        if resume is None and operator.start_from_trigger and operator.start_trigger_args is not None:
            self._start_from_trigger(operator, instance, supervisor)
        ended = runner.run(instance, supervisor)
        links_of_task = links.parse_links(instance.task, supervisor.pushed)
        self._raise_failure(ended)
        left = SegmentState(pushed=supervisor.pushed, stored=supervisor.stored)
        match ended.message:
            case comms.DeferTask():
                self._defer(ended.message, left)
            case comms.RescheduleTask(reschedule_date=moment):
                first = state.first_poke or instance.start_date
                again = replace(left, first_poke=first, reschedules=state.reschedules + 1)
                self.defer(trigger=Time(moment), method_name="poke_again", kwargs={"state": again.to_json()})
        if self._call.downstream:
            return call.chosen(self._call.downstream, supervisor.skipped)
        reported = self._events_of_outlets(operator, ended.message)
        return call.build_result(_results(supervisor.pushed, instance.task), assets=reported, links=links_of_task)

    def _events_of_outlets(self, operator: Any, message: Any) -> list[dict[str, Any]] | None:
        """Return what a task that succeeded reports for its outlets, None for a task whose result is without it."""
        if not self._lists_outlets:
            return None
        outlets = [each for each in operator.outlets or () if isinstance(each, Asset)]
        return events.build_events(outlets, getattr(message, "outlet_events", None))

    def _raise_failure(self, ended: runner.SegmentEnd) -> None:
        """Raise what the operator raised: the runtime knows Airflow's exceptions by name."""
        if ended.is_skipped:
            raise TaskSkipped(hidden_texts.redact(ended.skip_reason))
        if ended.error is None:
            return
        is_known = type(ended.error).__name__ in {"AirflowFailException", "AirflowSensorTimeout"}
        final = ended.forbids_retry and isinstance(ended.error, Exception)
        error = hidden_texts.without_secrets(ended.error, is_final=final)
        if final and not is_known and error is ended.error:
            raise TaskFailed(f"{type(error).__name__}: {error}") from error
        if error is ended.error:
            raise error
        raise error from None

    def _defer(self, message: Any, state: SegmentState) -> NoReturn:
        given = airflow_serde.deserialize(message.trigger_kwargs)
        kwargs = external_task.arguments(self._call, self._running.task.dag, message.classpath, given)
        next_kwargs = airflow_serde.deserialize(message.next_kwargs or {})
        self._wait(message.classpath, kwargs, message.next_method, next_kwargs, message.trigger_timeout, state)

    def _start_from_trigger(self, operator: Any, instance: Any, supervisor: InProcessSupervisor) -> NoReturn:
        """Defer at once, with rendered arguments, as Airflow's scheduler does without a pod."""
        start = operator.start_trigger_args
        kwargs = runner.render(instance, supervisor, start.trigger_kwargs or {})
        self._wait(start.trigger_cls, kwargs, start.next_method, start.next_kwargs or {}, start.timeout, SegmentState())

    def _wait(  # noqa: PLR0913, PLR0917 - the parts of a deferral
        self, class_path: str, kwargs: Any, method: str, next_kwargs: Any, timeout: Any, state: SegmentState
    ) -> NoReturn:
        ends = kwargs.get("end_from_trigger") is True
        trigger = deferral.DeferredAirflowTrigger(
            class_path, kwargs, connections=self._connections, variables=self._variables, ends_task=ends
        )
        state_kwargs = {"method": method, "kwargs": serde.encode(next_kwargs), "state": state.to_json()}
        self.defer(
            trigger=trigger,
            method_name="resume",
            kwargs=state_kwargs,
            timeout=timeout,
            on_timeout=None if timeout is None else "resume_late",
        )


def _results(pushed: Mapping[str, Any], operator: Any) -> dict[str, Any]:
    """Return the XComs for the result, without those of the links of the operator."""
    own = links.keys(operator)
    return {key: _result(value) for key, value in pushed.items() if key not in own}


def _result(value: Any) -> Any:
    """Return an XCom as a result: plain JSON if its object is, else the form of Airflow's serde."""
    try:
        decoded = airflow_serde.deserialize(value)
        canonical.plain(decoded)
    except (canonical.NotJsonError, ImportError, TypeError, ValueError, RecursionError):
        return value
    return decoded
