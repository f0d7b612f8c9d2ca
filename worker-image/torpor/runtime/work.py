"""The boundary around user code: whatever happens inside comes out as an outcome.

Only the end of the pod passes through: a pod that is deleted reports nothing, since the operator knows why it was.
"""

import sys
from collections.abc import Callable

from torpor import execution
from torpor.execution import Context
from torpor.runtime import entry, outcome
from torpor.runtime.arguments import Reader
from torpor.runtime.launch import Launch
from torpor.runtime.outcome import Outcome, Place
from torpor.runtime.taskrun import TaskRun


class Terminated(SystemExit):
    """SIGTERM arrived; a SystemExit, so that user code and asyncio let it pass."""


def perform(
    launch: Launch, run: TaskRun, reader: Reader, *, begin: Callable[[], None], now: Callable[[], float]
) -> Outcome:
    """Resolves the arguments, calls the task, and turns its end into an outcome; `begin` runs before user code."""
    try:
        arguments = reader.resolve()
        begin()
        context = context_of(launch, run)
        with execution.running(context):
            returned = entry.enter(run, arguments, context)
        return outcome.of_return(returned, lambda: Place(launch.namespace, run.pool, now()))
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - the boundary: user code may raise anything
        show(error)
        return outcome.of_exception(error)


def context_of(launch: Launch, run: TaskRun) -> Context:
    """What `context()` answers in this pod."""
    return Context(
        namespace=launch.namespace,
        workflow=run.workflow,
        task=run.task,
        map_index=run.map_index,
        attempt=launch.attempt,
        segment=launch.segment,
        taskrun=launch.taskrun,
        uid=launch.uid,
    )


def show(error: BaseException) -> None:
    """Prints the traceback on stderr, the pod's log, as far as it can be printed."""
    import traceback  # noqa: PLC0415 - 3 ms that only a failure pays

    try:
        traceback.print_exception(error)
    except Exception:  # noqa: BLE001 - user code's __str__ and __repr__ run in there
        print(outcome.describe(error), file=sys.stderr)  # noqa: T201 - the pod's log
