"""Runs user code and turns its behaviour into an outcome.

Only the end of the pod propagates: a pod that is deleted reports nothing, because the operator knows the reason.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from torpor_wire.reason import Reason

from torpor.context import Context, running
from torpor.errors import RejectedError
from torpor.runtime import entrypoint, exceptions, outcome
from torpor.runtime.arguments import ArgumentReader
from torpor.runtime.environment import Launch
from torpor.runtime.outcome import Outcome
from torpor.runtime.suspension import DeferralContext
from torpor.runtime.taskrun import WorkerTaskRun

if TYPE_CHECKING:
    from torpor.runtime.result_encoding import Body


class Terminated(SystemExit):
    """SIGTERM arrived. It is a SystemExit, so user code and asyncio let it pass."""


def perform(  # noqa: PLR0913 - the callbacks of the process
    launch: Launch,
    run: WorkerTaskRun,
    reader: ArgumentReader,
    *,
    begin: Callable[[], None],
    now: Callable[[], float],
    is_stopped: Callable[[], bool],
) -> "Outcome | Body":
    """Resolve the arguments, call the task, and return its outcome, or a body to upload.

    `begin` runs before user code. `is_stopped` returns whether the pod received SIGTERM.
    """
    try:
        if run.problem:
            raise RejectedError(Reason.STATUS_INVALID, run.problem)
        # A function that resumes gets its state and the event, and no arguments.
        wanted = run.resume is None or ":" not in run.resume.method
        values = reader.resolve() if wanted else {}
        resume = None if run.resume is None else run.resume._replace(event=reader.event(run.resume.event))
        reader.close()
        begin()
        context = task_context(launch, run)
        with running(context):
            arguments = entrypoint.mapped(values, run) if wanted else {}
            returned = entrypoint.enter(entrypoint.find(run), arguments, context, resume, is_stopped=is_stopped)
        return outcome.from_return(
            returned, lambda: deferral_context(launch, run, now()), archived=bool(launch.archive_url)
        )
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - the boundary: user code may raise anything
        exceptions.print_failure(error)
        return outcome.from_exception(error)
    finally:
        reader.close()


def deferral_context(launch: Launch, run: WorkerTaskRun, now: float) -> DeferralContext:
    """Return the context of a deferral of this pod."""
    return DeferralContext(launch.namespace, run.pool, now, run.account, launch.taskrun, launch.seal_key)


def task_context(launch: Launch, run: WorkerTaskRun) -> Context:
    """Return what `context()` returns in this pod."""
    return Context(
        namespace=launch.namespace,
        workflow=run.workflow,
        task=run.task,
        map_index=run.map_index,
        group_indexes=run.group_indexes,
        attempt=launch.attempt,
        segment=launch.segment,
        taskrun=launch.taskrun,
        uid=launch.uid,
    )
