"""Evaluating what users wrote, in child processes that can be killed.

A few children serve a queue, first come, first served. A child that exceeds its time or memory, or crashes, is
replaced, and only the evaluation it was at is answered with an error. The package's only module that does I/O.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from torpor_cel import errors, evaluation, frames
from torpor_cel.errors import ExpressionError, Reason
from torpor_cel.value import JSON, Value

_START_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_WALL_FACTOR = 10
"""How much longer than its processor time a child may take by the clock: it may wait for a crowded node."""


class Unavailable(Exception):  # noqa: N818, it names a condition of the machine, not of an expression
    """No child process can be started here, so nothing is known about the expression."""


class Evaluating(Protocol):
    """What gives an expression its value: an `Evaluator`, or `InProcess` where nothing has to be killed."""

    async def evaluate(self, expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
        """The value over these variables, whose keys are the names the expression may use."""
        ...


def evaluate_here(expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
    """The value, computed in this process without any limit of time: for tests and simulations."""
    return _told(expression, evaluation.evaluate(expression, variables))


class InProcess:
    """Evaluates in this process: for simulations, where time is virtual and expressions are trusted."""

    async def evaluate(self, expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
        """The value over these variables."""
        return evaluate_here(expression, variables)


@dataclass(frozen=True, slots=True)
class _Request:
    frame: bytes
    answer: "asyncio.Future[Value | ExpressionError]"


class Evaluator:
    """A pool of children; an async context manager, to be entered once.

    `seconds` of processor time limit one evaluation from the moment a child has read it, `memory_bytes` a child's
    address space.
    """

    def __init__(self, *, children: int = 2, seconds: float = 1.0, memory_bytes: int = 512 * 1024**2) -> None:
        self._children = children
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._requests: asyncio.Queue[_Request] = asyncio.Queue()
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
            while not self._requests.empty():
                self._requests.get_nowait().answer.cancel()

    async def evaluate(self, expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
        """The expression's value, or what is wrong with it. Raises Unavailable where no child can be started."""
        return _told(expression, await self._asked(expression, variables))

    async def _asked(self, expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
        try:
            frame = frames.encode({"expression": expression, "variables": variables})
        except UnicodeEncodeError:
            return errors.failed("the values hold half a surrogate pair, which is no text")
        except RecursionError:
            return errors.failed("the values are nested too deep")
        answer: asyncio.Future[Value | ExpressionError] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait(_Request(frame, answer))
        return await answer

    async def _work(self) -> None:
        child = _Child(self._seconds, self._memory_bytes)
        try:
            while True:
                request = await self._requests.get()
                try:
                    if not request.answer.done():
                        await _serve(child, request)
                finally:
                    request.answer.cancel()
        finally:
            await child.end()


def _told(expression: str, found: Value | ExpressionError) -> Value | ExpressionError:
    return found.of(expression) if isinstance(found, ExpressionError) else found


async def _serve(child: "_Child", request: _Request) -> None:
    """Answer the request; one that was cancelled meanwhile has nobody to hear it."""
    try:
        outcome = await child.evaluate(request.frame)
    except (OSError, Unavailable) as error:
        if not request.answer.done():
            request.answer.set_exception(Unavailable(f"no child process for expressions: {error}"))
        return
    if not request.answer.done():
        request.answer.set_result(outcome)


class _Child:
    """A child process that is started when it is needed, and again after it has ended."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._process: asyncio.subprocess.Process | None = None

    async def evaluate(self, frame: bytes) -> Value | ExpressionError:
        """What the child answers. A death that neither time nor memory explains is given a second try."""
        return await self._once(frame) or await self._once(frame) or errors.failed("the expression crashes CEL")

    async def _once(self, frame: bytes) -> Value | ExpressionError | None:
        process = self._process or await self._start()
        requests, answers = _pipes(process)
        try:
            async with asyncio.timeout(self._seconds * _WALL_FACTOR + _GRACE_SECONDS):
                requests.write(frame)
                await requests.drain()
                answer = await frames.receive(answers)
        except TimeoutError:
            await self.end()
            return self._too_long()
        except (asyncio.IncompleteReadError, ConnectionError):
            return self._too_long() if await self._ended() == -signal.SIGPROF else None
        if "value" in answer:
            return Value(json=answer["value"])
        return ExpressionError(reason=Reason(answer["reason"]), message=answer["message"])

    async def _start(self) -> asyncio.subprocess.Process:
        """A child that has said it is ready, so that its start is not counted as an evaluation's time."""
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "torpor_cel.child",
            str(self._seconds),
            str(self._memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # A terminal's Ctrl-C is for the parent, which ends its children.
        )
        _, answers = _pipes(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await frames.receive(answers)
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            raise Unavailable(f"it ended at its start with status {await self.end()}") from error
        return process

    async def _ended(self) -> int | None:
        """The status of a process whose output has ended. It is not killed, for that could lose how it died."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
        return await self.end()

    async def end(self) -> int | None:
        """Kill the process if it lives, and collect it. Its exit status, negative for a signal."""
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
    """Both were asked for at the start; the types do not know it."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    return process.stdin, process.stdout
