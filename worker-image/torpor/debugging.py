"""Runs one task in this process, under a debugger: the code of `torpor run --task`.

The task is called as in a pod, with its standard input and output. It prints each deferral, and resumes it with the
next event that the user gave. The result is printed on standard output, everything else on standard error.
"""

import json
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

from torpor_wire import constants, retry, times, typed_json

from torpor import in_process
from torpor.context import Context
from torpor.errors import TaskFailed
from torpor.in_process import TIMED_OUT, LocalDeferral, SegmentResult
from torpor.runtime import entrypoint, exceptions, outcome
from torpor.runtime.outcome import Success, TaskSkip
from torpor.runtime.taskrun import ResumePoint, TaskArgument, WorkerTaskRun
from torpor.testing import results

SUCCEEDED, FAILED, INTERRUPTED = 0, 3, 130
"""The exit codes, which are those of `torpor`. A task that is deferred or skipped did not fail."""
TIMED_OUT_WORD = "TIMED_OUT"
"""The text of an event that represents a timeout."""
_UID = "00000000-0000-0000-0000-000000000000"


class DebugRequest(NamedTuple):
    """The task to run. `events` are JSON texts or TIMED_OUT, one for each deferral.

    `first_wait` is the `trigger:` before the first pod, as in the Workflow. Its event is the first one.
    """

    python: str
    task: str
    workflow: str = "debug"
    arguments: Mapping[str, Any] = {}
    maps: Mapping[str, str] = {}
    """The functions that map arguments, by argument."""
    lists: tuple[str, ...] = ()
    """Arguments `${tasks.x.results}`: their lists become `Results`, as in a pod."""
    map_index: int = constants.UNMAPPED
    group_indexes: tuple[int, ...] = ()
    first_wait: Mapping[str, Any] | None = None
    events: tuple[str, ...] = ()

    def json(self) -> str:
        """Return the request as text for another process."""
        return json.dumps(self._asdict())


def main(text: str) -> int:
    """Run the request of another process. Return the exit code."""
    values = json.loads(text)
    lists = {name: tuple(values[name]) for name in ("lists", "group_indexes", "events")}
    return run(DebugRequest(**{**values, **lists}))


def run(request: DebugRequest) -> int:
    """Run a task to its end, or to a deferral without an event. Return the exit code."""
    try:
        return _play(request)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - the boundary: user code may raise anything
        return INTERRUPTED if _debugger_was_quit(error) else _report(request, error)


def _play(request: DebugRequest) -> int:
    events = list(request.events)
    after: ResumePoint | None = None
    segment = 0
    if request.first_wait is not None:
        _print_first(request.task, request.first_wait)
        if not events:
            return _without_event()
        after, segment = ResumePoint("", {}, _event(events.pop(0))), 1
    while True:
        target = entrypoint.find(_taskrun(request, after))
        ended = in_process.run_segment(target, _arguments(request, after), _context(request, segment), after)
        if isinstance(ended, SegmentResult):
            _print_result(request.task, ended.result, len(events))
            return SUCCEEDED
        _print_wait(request.task, segment, in_process.wait_of(ended))
        if not events:
            return _without_event()
        event = _event(events.pop(0))
        if event is TIMED_OUT and ended.timeout is None:
            raise TaskFailed(f"the deferral to {ended.trigger.class_name} has no timeout, so it cannot time out")
        after, segment = in_process.resume_of(ended, event), segment + 1


def _arguments(request: DebugRequest, after: ResumePoint | None) -> Mapping[str, Any]:
    """Return the arguments of the segment: a function that resumes gets its state instead."""
    if after is not None and ":" in after.method:
        return {}
    values = in_process.passed(request.arguments)
    values |= {name: results(values[name]) for name in request.lists if isinstance(values.get(name), list)}
    return entrypoint.mapped(values, _taskrun(request, after))


def _taskrun(request: DebugRequest, after: ResumePoint | None) -> WorkerTaskRun:
    return WorkerTaskRun(
        workflow=request.workflow,
        workflow_uid=_UID,
        task=request.task,
        map_index=request.map_index,
        pool=constants.DEFAULT_POOL,
        account=constants.TASK_ACCOUNT,
        image=f"this interpreter ({sys.executable})",
        python=request.python,
        arguments=tuple(TaskArgument(name, None, None, request.maps.get(name)) for name in request.arguments),
        policy=retry.Policy(),
        deadline=None,
        resume=after,
        group_indexes=request.group_indexes,
    )


def _context(request: DebugRequest, segment: int) -> Context:
    return Context(
        namespace="default",
        workflow=request.workflow,
        task=request.task,
        map_index=request.map_index,
        group_indexes=request.group_indexes,
        attempt=1,
        segment=segment,
        taskrun=f"{request.workflow}-{request.task}",
        uid=_UID,
    )


def _event(text: str) -> Any:
    return TIMED_OUT if text == TIMED_OUT_WORD else typed_json.decode(json.loads(text))


def _report(request: DebugRequest, error: BaseException) -> int:
    """Print a failure as in the log of a pod, and its outcome."""
    error = error.with_traceback(_below_this(error.__traceback__))
    exceptions.print_failure(error)
    match outcome.from_exception(error):
        case Success():  # SystemExit(0)
            _print_result(request.task, None, 0)
            return SUCCEEDED
        case TaskSkip(message):
            _say(f"{request.task} skipped itself: {message}")
            return SUCCEEDED
        case failure:
            _say(f"{request.task} failed: {failure.message}" + (" (retryable)" if failure.retryable else ""))
            return FAILED


def _below_this(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames of this module and of `in_process`, which no pod has."""
    while trace is not None and trace.tb_frame.f_code.co_filename in {__file__, in_process.__file__}:
        trace = trace.tb_next
    return trace


def _print_first(task: str, trigger: Mapping[str, Any]) -> None:
    _say(f"{task} waits for its trigger before its first pod")
    _rows({"trigger": trigger.get("class"), "kwargs": trigger.get("kwargs") or {}, "timeout": trigger.get("timeout")})


def _print_wait(task: str, segment: int, wait: LocalDeferral) -> None:
    _say(f"{task} deferred at the end of segment {segment}")
    _rows(
        {
            "trigger": wait.class_name,
            "kwargs": typed_json.encode(wait.kwargs),
            "resumes in": wait.method or "the task, from its beginning",
            "state": typed_json.encode(wait.state),
            "timeout": None if wait.timeout is None else times.human(wait.timeout),
            "on timeout": wait.on_timeout,
        }
    )


def _rows(rows: Mapping[str, Any]) -> None:
    for name, value in rows.items():
        if value is not None:
            shown = value if isinstance(value, str) else json.dumps(value)
            print(f"  {name.ljust(10)}  {shown}", file=sys.stderr)  # noqa: T201 - what the user asked for


def _print_result(task: str, result: Any, unused: int) -> None:
    sys.stdout.flush()
    match result:
        case bytes():
            _say(f"{task} returned {len(result):,} bytes")
        case _:
            _say(f"{task} succeeded")
            print(json.dumps(result, indent=2, default=str), flush=True)  # noqa: T201 - the result
    if unused:
        _say(f"{unused} of the events were not used: the task did not defer again")


def _without_event() -> int:
    _say("give its event with --event '{...}' to resume it in this process, or --event TIMED_OUT for its timeout")
    return SUCCEEDED


def _debugger_was_quit(error: BaseException) -> bool:
    return type(error).__module__ == "bdb" and type(error).__name__ == "BdbQuit"


def _say(message: str) -> None:
    sys.stdout.flush()
    print("torpor:", " ".join(message.split()), file=sys.stderr, flush=True)  # noqa: T201 - beside the output of the task
