"""Evaluates expressions of users in child processes that can be killed.

A few children serve a queue that is fair by share (`fair_queue`): slow expressions of one share do not delay another's.
A child that exceeds its time or memory, or crashes, is replaced, and only its current evaluation gets an error. This is
the only module of the package with I/O.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from torpor_expressions import errors, evaluation, ipc
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.fair_queue import FairQueue
from torpor_expressions.value import JSON, Value

_START_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_WALL_FACTOR = 10
"""The limit on wall time as a multiple of CPU time, because a node may be busy."""
_REPLACEMENT_SECONDS = 0.5
"""CPU seconds of starting a child, charged to the share whose expression ended the last one."""
_REQUEST_MAX = 4 * 1024**2
"""Bytes of JSON of the variables of an expression. Decoded, they need a multiple of it in a child."""

_LOG = logging.getLogger(__name__)


class EvaluatorUnavailable(Exception):  # noqa: N818, it names a condition of the machine, not of an expression
    """No child process can be started; the expression itself may be valid."""


class Evaluating(Protocol):
    """Evaluates expressions: an `Evaluator`, or `InProcess` without limits."""

    async def evaluate(
        self, expression: str, variables: Mapping[str, JSON], *, share: str = ""
    ) -> Value | ExpressionError:
        """Return the value. The keys of `variables` are the names that the expression may use.

        `share` is charged for the CPU time: expressions of one share delay each other before they delay those of
        another.
        """
        ...


def evaluate_here(expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
    """Return the value, computed in this process without a time limit: for tests and simulations."""
    return _with_expression(expression, evaluation.evaluate(expression, variables))


class InProcess:
    """Evaluates in this process: for simulations with virtual time and trusted expressions."""

    async def evaluate(
        self, expression: str, variables: Mapping[str, JSON], *, share: str = ""
    ) -> Value | ExpressionError:
        """Return the value; shares have no effect."""
        del share
        return evaluate_here(expression, variables)


@dataclass(frozen=True, slots=True)
class _EvaluationRequest:
    """A request. It is encoded when a child takes it, because many large requests may wait."""

    expression: str
    variables: Mapping[str, JSON]
    answer: "asyncio.Future[Value | ExpressionError]"

    def frame(self) -> bytes | ExpressionError:
        """Return the message to the child."""
        try:
            frame = ipc.encode({"expression": self.expression, "variables": self.variables})
        except UnicodeEncodeError:
            return errors.failed("the values contain an unpaired surrogate")
        except RecursionError:
            return errors.failed("the values are nested too deep")
        if len(frame) > _REQUEST_MAX:
            size, most = f"{len(frame) // 1024:,} kB", f"{_REQUEST_MAX // 1024:,} kB"
            return errors.too_expensive(f"its values are {size} of JSON; {most} are allowed")
        return frame


class Evaluator:
    """A pool of child processes; an async context manager that can be entered once.

    Args:
        seconds: CPU seconds of one evaluation.
        memory_bytes: Address space of a child, of which its start needs 40 MiB.
        budget: CPU seconds of a share per minute. A share that exceeds it waits behind the others.
    """

    def __init__(
        self, *, children: int = 2, seconds: float = 1.0, memory_bytes: int = 128 * 1024**2, budget: float = 20.0
    ) -> None:
        self._children = children
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._budget = budget
        self._queue: FairQueue[_EvaluationRequest] = FairQueue(servers=children, budget=budget, cost_max=seconds)
        self._changed = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self._workers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._workers = [self._tasks.create_task(self._work()) for _ in range(self._children)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            for request in self._queue.drain():
                request.answer.cancel()

    async def evaluate(
        self, expression: str, variables: Mapping[str, JSON], *, share: str = ""
    ) -> Value | ExpressionError:
        """Return the value of an expression, or its error. Raises Unavailable if no child can be started."""
        answer: asyncio.Future[Value | ExpressionError] = asyncio.get_running_loop().create_future()
        self._queue.put(share, _EvaluationRequest(expression, variables, answer))
        self._changed.set()
        return _with_expression(expression, await answer)

    async def _work(self) -> None:
        child = _Child(self._seconds, self._memory_bytes)
        try:
            while True:
                share, request = await self._next()
                try:
                    if not request.answer.done():
                        await _serve(child, request)
                except Exception:  # noqa: BLE001 - a boundary: one expression must not stop others
                    _LOG.exception("%s: an expression cannot be evaluated", share)
                    await child.end()
                    if not request.answer.done():
                        request.answer.set_result(errors.failed("internal error; see the log of the operator"))
                finally:
                    request.answer.cancel()
                    self._done(share, child.charge())
        finally:
            await child.end()

    async def _next(self) -> tuple[str, _EvaluationRequest]:
        clock = asyncio.get_running_loop().time
        while (taken := self._queue.take(clock())) is None:
            self._changed.clear()
            await self._changed.wait()
        return taken

    def _done(self, share: str, seconds: float) -> None:
        if self._queue.done(share, seconds, asyncio.get_running_loop().time()):
            _LOG.warning(
                "%s: expressions used more than %g s of CPU time in a minute; others are evaluated first",
                share,
                self._budget,
            )
        self._changed.set()


def _with_expression(expression: str, result: Value | ExpressionError) -> Value | ExpressionError:
    return result.with_expression(expression) if isinstance(result, ExpressionError) else result


async def _serve(child: "_Child", request: _EvaluationRequest) -> None:
    """Answer a request, unless it was cancelled."""
    frame = request.frame()
    if isinstance(frame, ExpressionError):
        request.answer.set_result(frame)
        return
    try:
        outcome = await child.evaluate(frame)
    except (OSError, EvaluatorUnavailable) as error:
        if not request.answer.done():
            request.answer.set_exception(EvaluatorUnavailable(f"no child process for expressions: {error}"))
        return
    if not request.answer.done():
        request.answer.set_result(outcome)


class _Child:
    """A child process, started on demand and again after it ended."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._used = 0.0
        self._process: asyncio.subprocess.Process | None = None

    async def evaluate(self, frame: bytes) -> Value | ExpressionError:
        """Return the answer of the child.

        A crash that neither time nor memory explains is retried once. So is a child without an answer, which a busy
        node has starved: an expression that uses up its CPU time ends its child by itself.
        """
        try:
            return (
                await self._once(frame)
                or await self._once(frame, repeated=True)
                or errors.failed("the expression crashed the CEL library")
            )
        except TimeoutError:
            return self._too_long()

    def charge(self) -> float:
        """Return the CPU seconds since the last call."""
        used, self._used = self._used, 0.0
        return used

    async def _once(self, frame: bytes, *, repeated: bool = False) -> Value | ExpressionError | None:
        process = self._process or await self._start()
        requests, answers = _pipes(process)
        try:
            async with asyncio.timeout(self._seconds * _WALL_FACTOR + _GRACE_SECONDS):
                requests.write(frame)
                await requests.drain()
                answer = await ipc.receive(answers)
                cost = await ipc.receive(answers)
        except TimeoutError:
            self._used += self._seconds + _REPLACEMENT_SECONDS
            await self.end()
            if repeated:
                raise
            return None
        except (asyncio.IncompleteReadError, ConnectionError):
            self._used += self._seconds + _REPLACEMENT_SECONDS
            return self._too_long() if await self._ended() == -signal.SIGPROF else None
        self._used += cost["used"]
        if cost["ends"]:
            await self.end()
        if "value" in answer:
            return Value(json=answer["value"])
        return ExpressionError(reason=ExpressionReason(answer["reason"]), message=answer["message"])

    async def _start(self) -> asyncio.subprocess.Process:
        """Start a child and wait until it is ready, so that its start does not count as evaluation."""
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "torpor_expressions.worker",
            str(self._seconds),
            str(self._memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is handled by the parent, which ends its children.
        )
        _, answers = _pipes(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await ipc.receive(answers)
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            raise EvaluatorUnavailable(f"it ended at start-up with status {await self.end()}") from error
        return process

    async def _ended(self) -> int | None:
        """Return the exit status of a process whose output has ended. Killing it could hide the cause."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
        return await self.end()

    async def end(self) -> int | None:
        """Kill the process if it runs, and return its exit status, negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.communicate()
        return process.returncode

    def _too_long(self) -> ExpressionError:
        return errors.too_expensive(f"the expression took longer than {self._seconds:g} s")


def _pipes(process: asyncio.subprocess.Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    """Return the pipes; they are always there."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    return process.stdin, process.stdout
