"""The result of a run: the value of `spec.result` when all tasks have ended and none failed the run. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_crds.models.archive import StoredRunResult
from torpor_crds.models.workflow import WorkflowStatus
from torpor_expressions import errors, references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import Value
from torpor_wire import canonical, constants
from torpor_wire.state import RunState

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import ROOTS, Pending, Scope
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows.plan.status import RunVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The verdict of a run and its result: the text, where the archive has it, or what must be known first."""

    verdict: RunVerdict
    text: str | None = None
    stored: StoredRunResult | None = None
    needs: tuple[Need, ...] = ()

    def on(self, status: WorkflowStatus) -> WorkflowStatus:
        """The status with the result, which is known before the hooks start."""
        return status.model_copy(update={"result": self.text, "stored": self.stored})


def resolve_result(snapshot: Snapshot, outcomes: Sequence[TaskOutcome], verdict: RunVerdict) -> RunResult:
    """The result of the run; without `spec.result`, or if the run has not succeeded, only its verdict.

    A failed evaluation fails the run before its hooks start, so that they see it.
    """
    expression = snapshot.workflow.spec.result
    if expression is None or verdict.succeeded != "True":
        return RunResult(verdict=verdict)
    expression = resolve.unwrap(expression)
    by_task = {outcome.task: outcome for outcome in outcomes}
    if (stored := _in_archive(expression, by_task)) is not None:
        return RunResult(verdict=verdict, stored=stored)
    match Scope(workflow=snapshot.workflow, outcomes=by_task, known=snapshot.known).evaluate(expression):
        case Pending(needs):
            waiting = RunVerdict(state=RunState.RUNNING, succeeded="Unknown", reason=RunState.RUNNING)
            return RunResult(verdict=waiting, needs=needs)
        case Value(json=value):
            return _limited(verdict, canonical.plain(value))
        case error:
            return _failed(error)


def _in_archive(expression: str, outcomes: dict[str, TaskOutcome]) -> StoredRunResult | None:
    """The result of a task in the archive, if the expression is that result and nothing else."""
    match references.path(expression, roots=ROOTS):
        case ("tasks", name, "result"):
            taskrun = outcomes[name].runs.get(constants.UNMAPPED)
        case _:
            return None
    if taskrun is None or taskrun.status.stored is None:
        return None
    fields = taskrun.status.stored.model_dump()
    return StoredRunResult(**fields, task_run=taskrun.metadata.name, uid=taskrun.metadata.uid)


def _limited(verdict: RunVerdict, text: str) -> RunResult:
    if (size := len(text.encode())) <= constants.RESULT_MAX:
        return RunResult(verdict=verdict, text=text)
    message = f"the value has {size} bytes; the limit is {constants.RESULT_MAX}: let a task return it"
    return _failed(errors.failed(f"{message}, and write tasks.<name>.result"))


def _failed(error: ExpressionError) -> RunResult:
    return RunResult(verdict=RunVerdict.failed(error.reason, f"spec.result: {error.message}"))
