"""Answers what a task asks Airflow's supervisor, in the process of the task.

The XComs of other tasks are arguments of the task, and its own are kept for its result. Everything else that Airflow
would read from its API raises an error that names the request.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from airflow.sdk.exceptions import ErrorType
from airflow.sdk.execution_time import comms

from torpor_airflow.operators import call

_UNUSED = (comms.SetRenderedFields, comms.SetRenderedMapIndex, comms.MaskSecret, comms.TaskState, comms.RetryTask)
_ENDS = (comms.SucceedTask, comms.DeferTask, comms.RescheduleTask, comms.SetTaskStateStore)


class UnsupportedRequestError(RuntimeError):
    """A task asked Airflow's API for something that Torpor does not have."""


class InProcessSupervisor:
    """Implements `SUPERVISOR_COMMS` of Airflow's task runner."""

    def __init__(
        self,
        task_id: str,
        xcoms: Mapping[str, Mapping[str, Any]],
        pushed: Mapping[str, Any],
        first_poke: datetime | None,
    ) -> None:
        self._task = call.task_key(task_id)
        self._xcoms = {call.task_key(task): dict(values) for task, values in xcoms.items()}
        self._first_poke = first_poke
        self.pushed = dict(pushed)
        self.skipped: list[str] = []
        """The downstream tasks that a branch skips."""

    def send(self, msg: Any) -> Any:
        """Answer a request. Raises UnsupportedRequestError."""
        match msg:
            case comms.GetXCom() | comms.GetXComSequenceItem() | comms.GetXComSequenceSlice() | comms.GetXComCount():
                return self._xcom(msg)
            case comms.SetXCom(key=key, value=value):
                self.pushed[key] = value
            case comms.DeleteXCom(key=key):
                self.pushed.pop(key, None)
            case comms.SkipDownstreamTasks(tasks=tasks):
                self.skipped = [each if isinstance(each, str) else each[0] for each in tasks]
            case comms.GetTaskRescheduleStartDate():
                return comms.TaskRescheduleStartDate(start_date=self._first_poke)
            case comms.GetConnection():
                return comms.ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND)
            case comms.GetVariable():
                return comms.ErrorResponse(error=ErrorType.VARIABLE_NOT_FOUND)
            case comms.ValidateInletsAndOutlets():
                return comms.InactiveAssetsResult(inactive_assets=[])
            case _ if not isinstance(msg, (*_UNUSED, *_ENDS)):
                raise UnsupportedRequestError(_unsupported(msg))
        return comms.OKResponse(ok=True)

    async def asend(self, msg: Any) -> Any:
        """Answer a request of asynchronous code."""
        return self.send(msg)

    def _xcom(self, msg: Any) -> Any:
        values = list(self._values(msg.task_id, msg.key))
        match msg:
            case comms.GetXCom(key=key):
                return comms.XComResult(key=key, value=values[0] if values else None)
            case comms.GetXComSequenceSlice():
                return comms.XComSequenceSliceResult(root=values[msg.start : msg.stop : msg.step])
            case comms.GetXComSequenceItem(offset=offset) if offset < len(values):
                return comms.XComSequenceIndexResult(root=values[offset])
            case comms.GetXComSequenceItem():
                return comms.ErrorResponse(error=ErrorType.XCOM_NOT_FOUND)
            case _:
                return comms.XComCountResponse(len=len(values))

    def _values(self, task_id: str, key: str) -> Iterator[Any]:
        task = call.task_key(task_id)
        values = self.pushed if task == self._task else self._xcoms.get(task)
        if values is None:
            raise UnsupportedRequestError(
                f"the operator reads the XCom of task {task_id}: pass its result as the argument "
                f"{call.XCOM_PREFIX}{task_id}: ${{tasks.{task_id}.result}}"
            )
        if values.get(key) is not None:
            yield values[key]


def _unsupported(msg: object) -> str:
    return f"the task asked Airflow's API for {type(msg).__name__}, which Torpor does not have"
