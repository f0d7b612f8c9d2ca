"""Answers what a task asks Airflow's supervisor, in the process of the task.

The XComs of other tasks are arguments of the task, and its own are kept for its result. Everything else that Airflow
would read from its API raises an error that names the request.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk.exceptions import ErrorType
from airflow.sdk.execution_time import comms

from torpor_airflow.operators import call
from torpor_airflow.operators.call import SegmentState, TaskXComs

_UNUSED = (comms.SetRenderedFields, comms.SetRenderedMapIndex, comms.MaskSecret, comms.TaskState, comms.RetryTask)
_ENDS = (comms.SucceedTask, comms.DeferTask, comms.RescheduleTask)

_STORE = (comms.GetTaskStateStore, comms.SetTaskStateStore, comms.DeleteTaskStateStore, comms.ClearTaskStateStore)


class UnsupportedRequestError(RuntimeError):
    """A task asked Airflow's API for something that Torpor does not have."""


class InProcessSupervisor:
    """Implements `SUPERVISOR_COMMS` of Airflow's task runner, for a task of the run `run_id` of a DAG."""

    def __init__(  # noqa: PLR0913 - what the task is, and what it has
        self,
        *,
        dag_id: str,
        run_id: str,
        task_id: str,
        xcoms: Mapping[str, TaskXComs],
        state: SegmentState,
        assets: Sequence[Any] = (),
    ) -> None:
        self._dag_id, self._run_id = dag_id, run_id
        self._task = call.task_key(task_id)
        self._xcoms = {call.task_key(task): values for task, values in xcoms.items()}
        self._first_poke = state.first_poke
        self._assets = assets
        self.pushed = dict(state.pushed)
        self.stored = dict(state.stored)
        self.skipped: list[str] = []
        """The downstream tasks that a branch skips."""

    def send(self, msg: Any) -> Any:
        """Answer a request. Raises UnsupportedRequestError."""
        match msg:
            case comms.GetXCom() | comms.GetXComSequenceItem() | comms.GetXComSequenceSlice() | comms.GetXComCount():
                return self._xcom(msg)
            case comms.SetXCom() | comms.DeleteXCom():
                self._push(msg)
            case comms.SkipDownstreamTasks(tasks=tasks):
                self.skipped = [each if isinstance(each, str) else each[0] for each in tasks]
            case comms.GetTaskRescheduleStartDate() | comms.GetPrevSuccessfulDagRun():
                return self._dates(msg)
            case comms.GetConnection() | comms.GetVariable():
                is_variable = isinstance(msg, comms.GetVariable)
                missing = ErrorType.VARIABLE_NOT_FOUND if is_variable else ErrorType.CONNECTION_NOT_FOUND
                return comms.ErrorResponse(error=missing)
            case comms.GetAssetByName() | comms.GetAssetByUri():
                return self._asset(msg)
            case _ if isinstance(msg, _STORE):
                return self._store(msg)
            case comms.ValidateInletsAndOutlets():
                return comms.InactiveAssetsResult(inactive_assets=[])
            case _ if not isinstance(msg, (*_UNUSED, *_ENDS)):
                raise UnsupportedRequestError(_unsupported(msg))
        return comms.OKResponse(ok=True)

    async def asend(self, msg: Any) -> Any:
        """Answer a request of asynchronous code."""
        return self.send(msg)

    def _dates(self, msg: Any) -> Any:
        """Return the first poke, or no last successful run: code that prints the whole context asks for it, too."""
        if isinstance(msg, comms.GetPrevSuccessfulDagRun):
            return comms.PrevSuccessfulDagRunResult()
        return comms.TaskRescheduleStartDate(start_date=self._first_poke)

    def _push(self, msg: Any) -> None:
        """Keep or remove an XCom of the task."""
        if isinstance(msg, comms.SetXCom):
            self.pushed[msg.key] = msg.value
        else:
            self.pushed.pop(msg.key, None)

    def _store(self, msg: Any) -> Any:
        """Answer from what the task has stored in this attempt, or change it."""
        match msg:
            case comms.SetTaskStateStore(key=key, value=value):
                self.stored[key] = value
            case comms.GetTaskStateStore(key=key) if key in self.stored:
                return comms.TaskStateStoreResult(value=self.stored[key])
            case comms.GetTaskStateStore():
                return comms.ErrorResponse(error=ErrorType.TASK_STORE_NOT_FOUND)
            case comms.DeleteTaskStateStore(key=key):
                self.stored.pop(key, None)
            case _:
                self.stored.clear()
        return comms.OKResponse(ok=True)

    def _asset(self, msg: Any) -> Any:
        """Return an asset that the DAG file has."""
        wanted = msg.model_dump(include={"name", "uri"})
        for each in self._assets:
            if all(getattr(each, key) == value for key, value in wanted.items()):
                return comms.AssetResult(name=each.name, uri=each.uri, group=each.group, extra=each.extra)
        return comms.ErrorResponse(error=ErrorType.ASSET_NOT_FOUND)

    def _xcom(self, msg: Any) -> Any:
        self._check_run(msg)
        xcoms = self._xcoms_of(msg.task_id)
        match msg:
            case comms.GetXCom(key=key, map_index=index):
                return comms.XComResult(key=key, value=xcoms.of_index(index, key))
            case comms.GetXComSequenceSlice():
                return comms.XComSequenceSliceResult(root=xcoms.of_all(msg.key)[msg.start : msg.stop : msg.step])
            case comms.GetXComSequenceItem(offset=offset):
                values = xcoms.of_all(msg.key)
                if -len(values) <= offset < len(values):
                    return comms.XComSequenceIndexResult(root=values[offset])
                return comms.ErrorResponse(error=ErrorType.XCOM_NOT_FOUND)
            case _:
                return comms.XComCountResponse(len=len(xcoms.of_all(msg.key)))

    def _check_run(self, msg: Any) -> None:
        """Raise UnsupportedRequestError for an XCom of another run."""
        others = {
            f"of the DAG {msg.dag_id}": msg.dag_id != self._dag_id,
            f"of the run {msg.run_id}": msg.run_id != self._run_id,
            "of earlier runs (include_prior_dates)": getattr(msg, "include_prior_dates", False),
        }
        for other, is_asked in others.items():
            if is_asked:
                raise UnsupportedRequestError(
                    f"the operator reads the XCom of task {msg.task_id} {other}: a task reads those of its own run; "
                    "pass the value as a param of the run"
                )

    def _xcoms_of(self, task_id: str) -> TaskXComs:
        task = call.task_key(task_id)
        if task == self._task:
            return TaskXComs(by_index={call.UNMAPPED: self.pushed})
        if task not in self._xcoms:
            raise UnsupportedRequestError(
                f"the operator reads the XCom of task {task_id}: pass its result as the argument "
                f"{call.XCOM_PREFIX}{task_id}: ${{tasks.{task_id}.result}}"
            )
        return self._xcoms[task]


def _unsupported(msg: object) -> str:
    return f"the task asked Airflow's API for {type(msg).__name__}, which Torpor does not have"
