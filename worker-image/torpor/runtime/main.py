"""The process of a task pod: claim, run, report.

Exit codes, for `kubectl get pods`: 0 if a success, a skip or a deferral was stored, or another process has the claim; 1
if a failure was stored; 2 if nothing could be claimed or stored; 77 if the ServiceAccount may not claim, which the
operator reports; 143 after SIGTERM.
"""

import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, assert_never

from torpor_wire import constants

from torpor.errors import UnreadableError
from torpor.runtime import environment, exceptions, http, runner, status_patch, taskrun, taskrun_writes
from torpor.runtime.arguments import LIMIT_S, ArgumentReader
from torpor.runtime.environment import Launch, LaunchError
from torpor.runtime.outcome import Outcome, Success, TaskFailure, TaskSkip
from torpor.runtime.suspension import Suspension

if TYPE_CHECKING:
    from torpor.runtime.archive.client import ArchiveConnection
    from torpor.runtime.result_encoding import Body

DONE, FAILED, UNABLE = 0, 1, 2
_SIGNALLED = 128


def _no_archive(_: Launch) -> "ArchiveConnection | None":
    return None


class RuntimeEnvironment(NamedTuple):
    """What a run needs from its environment."""

    transport: http.WorkerTransport
    now: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    begin: Callable[[], None]
    """Called once, just before the user's code."""
    end: Callable[[], bool]
    """Called once, just after the user's code; returns whether the pod received SIGTERM meanwhile."""
    is_stopped: Callable[[], bool] = lambda: False
    """Returns whether the pod received SIGTERM."""
    archive: "Callable[[Launch], ArchiveConnection | None]" = _no_archive
    """Returns the archive of the installation, None if there is none. Raises ValueError and UnreadableError."""
    code: str | None = None
    """Where the code of the task is, for messages; None if it is in the image of the TaskRun."""

    def retry_policy(self, limit: float, repeats: frozenset[int]) -> status_patch.RetryPolicy:
        """How long to retry without a clear response."""
        return status_patch.RetryPolicy(limit, repeats, self.monotonic, self.sleep, self.jitter)


def main(start: Callable[[], int]) -> NoReturn:
    """Run `start`, which returns the exit code, and handle signals and exit."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code = start()
    except runner.Terminated:
        code = _SIGNALLED + signal.SIGTERM
    except KeyboardInterrupt:
        code = _SIGNALLED + signal.SIGINT
    except BaseException as error:  # noqa: BLE001 - exit code 1 would mean that a failure is stored
        exceptions.print_failure(error)
        code = UNABLE
    _leave(code)


def run(runtime: RuntimeEnvironment, launched: Launch) -> int:
    """Claim, run and report; return the exit code."""
    claimed = taskrun_writes.claim(
        runtime.transport,
        launched,
        runtime.retry_policy(taskrun_writes.CLAIM_LIMIT_S, taskrun_writes.CLAIM_REPEATS),
        now=runtime.now(),
    )
    match claimed:
        case status_patch.WriteStored(body):
            return _run(runtime, launched, body)
        case status_patch.WriteLost():
            return DONE
        case status_patch.WriteRefused(message) | status_patch.Indeterminate(message):
            code = _unable(f"{launched.taskrun} could not be claimed, so no code of the task ran: {message}")
            return (
                constants.EXIT_FORBIDDEN
                if isinstance(claimed, status_patch.WriteRefused) and status_patch.has_no_role(message)
                else code
            )
        case _:
            assert_never(claimed)


def _run(runtime: RuntimeEnvironment, launched: Launch, body: Any) -> int:
    task = taskrun.parse_taskrun(body)
    task = task if runtime.code is None else task._replace(image=runtime.code)
    launched = launched._replace(history=taskrun.parse_history(body))
    retry_policy = runtime.retry_policy(LIMIT_S, taskrun_writes.CLAIM_REPEATS)
    reader = ArgumentReader(
        runtime.transport, launched.namespace, task, retry_policy, lambda: runtime.archive(launched)
    )
    process = os.getpid()
    ended = runner.perform(launched, task, reader, begin=runtime.begin, now=runtime.now, is_stopped=runtime.is_stopped)
    if os.getpid() != process:
        os._exit(DONE)  # a process that user code forked must not report
    if runtime.end() and isinstance(ended, TaskFailure):
        raise runner.Terminated  # a failure because the pod ends must not count as an attempt
    outcome = (
        ended if isinstance(ended, Success | Suspension | TaskSkip | TaskFailure) else _kept(runtime, launched, ended)
    )
    if isinstance(outcome, Success) and constants.ENV_FILES in os.environ:
        outcome = _with_files(runtime, launched, outcome)
    reader.close()  # again, because the upload may read lazy results
    now = runtime.now()
    patch = taskrun_writes.patch_of(outcome, launched, task, now=now)
    retry_policy = runtime.retry_policy(taskrun_writes.REPORT_LIMIT_S, taskrun_writes.REPORT_REPEATS)
    return _reported(
        launched, outcome, taskrun_writes.report(runtime.transport, launched, patch, retry_policy, now=now)
    )


def _kept(runtime: RuntimeEnvironment, launched: Launch, body: "Body") -> Outcome:
    from torpor.runtime.archive import upload  # noqa: PLC0415 - only for large values

    try:
        to = runtime.archive(launched)
    except (ValueError, UnreadableError) as error:
        return upload.not_stored(str(error))
    if to is None:
        return upload.not_stored("this pod has no address of it")
    return upload.kept(to, body, runtime.retry_policy(upload.LIMIT_S, taskrun_writes.REPORT_REPEATS))


def _with_files(runtime: RuntimeEnvironment, launched: Launch, ended: Success) -> Outcome:
    """Store the outputs of the task, and return the outcome with their descriptions."""
    from torpor import files  # noqa: PLC0415 - only for tasks with files
    from torpor.runtime.archive import outputs, upload  # noqa: PLC0415

    declared = files.declared(os.environ).get("out", ())
    if not declared:
        return ended
    try:
        to = runtime.archive(launched)
    except (ValueError, UnreadableError) as error:
        return upload.not_stored(str(error))
    if to is None:
        return upload.not_stored("this pod has no address of it, and files.out needs it")
    stored = outputs.store(to, declared, runtime.retry_policy(upload.LIMIT_S, taskrun_writes.REPORT_REPEATS))
    return stored if isinstance(stored, TaskFailure) else ended._replace(files=tuple(stored))


def _reported(launched: Launch, outcome: Outcome, settled: status_patch.WriteResult) -> int:
    match settled:
        case status_patch.WriteStored():
            return FAILED if isinstance(outcome, TaskFailure) else DONE
        case status_patch.WriteLost():
            _say(f"{launched.taskrun} was changed by another writer while the task ran; its outcome is discarded")
            return DONE
        case status_patch.WriteRefused(message, invalid=True):
            _say(f"the outcome of {launched.taskrun} was refused: {message}")
            return FAILED
        case status_patch.WriteRefused(message) | status_patch.Indeterminate(message):
            return _unable(f"the outcome of {launched.taskrun} could not be stored: {message}")
        case _:
            assert_never(settled)


def in_pod() -> int:
    """Run the segment of the environment with the credentials of the pod."""
    local = os.environ.get(constants.ENV_API)
    if local is not None:
        return _in_local_run(local)
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if host is None:
        return _unable("KUBERNETES_SERVICE_HOST is not set: run `python -m torpor` only in pods that Torpor creates")
    if not os.path.isdir(constants.CREDENTIALS):  # noqa: PTH112 - pathlib costs 5 ms
        return _unable(
            f"{constants.CREDENTIALS} is not mounted: run `python -m torpor` only in pods that Torpor creates"
        )
    token = http.token_in(constants.CREDENTIALS)
    try:
        launched = _launched(environment.pod_uid(token()))
    except LaunchError as error:
        return _unable(str(error))
    connect = http.over_tls(host, int(port), f"{constants.CREDENTIALS}/ca.crt")
    return run(build_runtime(http.ConnectionTransport(host, connect, token)), launched)


def _launched(pod_uid: str) -> Launch:
    """Return the launch of this process. Raises LaunchError."""
    nonce = os.urandom(16).hex()
    return environment.with_source(environment.read(os.environ, nonce, pod_uid), os.environ)


def _in_local_run(address: str) -> int:
    """Run the segment of the environment against the API server of a local run, which needs no credentials."""
    from torpor import clock  # noqa: PLC0415 - only in local runs

    try:
        launched = _launched(os.environ.get(constants.ENV_POD_UID, ""))
    except LaunchError as error:
        return _unable(str(error))
    transport = http.ConnectionTransport("localhost", http.over_unix(address.removeprefix("unix:")), lambda: "local")
    return run(build_runtime(transport, now=clock.now)._replace(code=f"this interpreter ({sys.executable})"), launched)


def build_runtime(transport: http.ConnectionTransport, *, now: Callable[[], float] = time.time) -> RuntimeEnvironment:
    """Return the real clock and process around a connection to the API server."""

    def begin() -> None:
        # No collection of the task looks at what the runtime has imported, which lives as long as the process.
        gc.freeze()
        gc.enable()
        if os.environ.get("TORPOR_STARTUP_REPORT") == "1":
            from torpor.runtime import startup_report  # noqa: PLC0415 - only for the benchmark

            print(startup_report.line(), flush=True)  # noqa: T201 - the benchmark reads it from the pod's log

    runtime = RuntimeEnvironment(
        transport=transport,
        now=now,
        monotonic=time.monotonic,
        sleep=time.sleep,
        jitter=lambda: os.urandom(1)[0] / 255,
        begin=begin,
        end=_finish,
        is_stopped=lambda: _ReceivedSignals.terminated,
    )
    return runtime._replace(archive=lambda launched: _archive(runtime, launched))


def _archive(runtime: RuntimeEnvironment, launched: Launch) -> "ArchiveConnection | None":
    """Return the archive of the installation, None if there is none. Raises ValueError and UnreadableError."""
    if launched.archive_url is None:
        return None
    from torpor.runtime.archive import client  # noqa: PLC0415 - only for large values

    return client.archive_at(
        runtime.transport, launched, runtime.retry_policy(taskrun_writes.REPORT_LIMIT_S, taskrun_writes.REPORT_REPEATS)
    )


class _ReceivedSignals:
    """The signals that this process received."""

    terminated = False


def _finish() -> bool:
    """From now on ignore SIGTERM: the work is done, and only the report is left."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return _ReceivedSignals.terminated


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    _ReceivedSignals.terminated = True
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing interrupts what the task does on its way out
    raise runner.Terminated


def _unable(message: str) -> int:
    _say(message)
    return UNABLE


def _say(message: str) -> None:
    print("torpor:", " ".join(message.split()), file=sys.stderr)  # noqa: T201 - one line in the pod's log


def _leave(code: int) -> NoReturn:
    """Exit at once: threads that the task left behind must not keep the pod, because that would delay the resume."""
    atexit._run_exitfuncs()  # noqa: SLF001 - the only way to run them before os._exit
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)
