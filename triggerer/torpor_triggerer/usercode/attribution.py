"""Marks the stack while the code of a trigger runs, so that another thread can see whose code blocks a loop.

A frame of ours steps the coroutine of a trigger, and each task that it starts, since `asyncio.wait_for` alone starts
one. Marking costs one function call a step; the marks are read only when a loop is late. A task that calls `sys.exit`
would end its loop, so a step turns that into an error of the task.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType
from typing import Any, Generic, NamedTuple, TypeVar

from torpor_triggerer.model.outcome import error_text

T = TypeVar("T")

_OURS = str(PurePath(__file__).parents[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The registered name of a trigger, and its subject: the trigger, or the wait that it is made for."""

    class_name: str
    subject: object


class ExitedError(Exception):
    """A trigger tried to exit the process."""


_running: ContextVar[Attribution | None] = ContextVar("torpor_triggerer.mark", default=None)


class _Steps(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine whose every step is marked on the stack."""

    __slots__ = ("_work", "mark")

    def __init__(self, mark: Attribution, work: Coroutine[Any, Any, T]) -> None:
        self.mark = mark
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def __iter__(self) -> "_Steps[T]":
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Continue."""
        return self._step(self._work.send, value)

    def throw(self, *given: Any) -> Any:
        """Continue with an exception."""
        return self._step(self._work.throw, *given)

    def close(self) -> None:
        """Close the coroutine."""
        self._work.close()

    def _step(self, go_on: Callable[..., Any], *given: Any) -> Any:
        """Tasks that it starts inherit the mark. Nothing is kept while it waits, for thousands do."""
        former = _running.get()
        _running.set(self.mark)
        try:
            return go_on(*given)
        except (SystemExit, KeyboardInterrupt) as error:
            raise ExitedError(f"{type(error).__name__}: {error_text(error)}") from error
        finally:
            _running.set(former)


def running(mark: Attribution, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """Wrap a coroutine so that each of its steps is marked."""
    return _Steps(mark, work)


def call(mark: Attribution, work: Callable[[], T]) -> T:
    """Call a function, marked."""
    token = _running.set(mark)
    try:
        return work()
    finally:
        _running.reset(token)


def factory(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> "asyncio.Task[Any]":
    """The task factory of a loop: a task that marked code starts is marked, too."""
    mark = _running.get()
    return asyncio.Task(work if mark is None else _Steps(mark, work), loop=loop, **given)


class CodeLocation(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line} in {self.function}"


class StackSample(NamedTuple):
    """What a loop executes: its current step (no two steps share a frame), whose it is, and where.

    `types` are the classes of the methods on the stack, `places` the lines outside this package; both innermost first.
    """

    step: FrameType
    mark: Attribution
    types: tuple[type, ...]
    places: tuple[CodeLocation, ...]


def read(frame: FrameType | None) -> StackSample | None:
    """Sample the stack from a frame; None if no marked code runs.

    Without the garbage collector: it may release the interpreter inside of `f_locals`, and CPython 3.11 crashes if the
    frame ends meanwhile.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return _read(frame)
    finally:
        if collects:
            gc.enable()


def _read(frame: FrameType | None) -> StackSample | None:
    types: list[type] = []
    places: list[CodeLocation] = []
    while frame is not None:
        mark = _mark(frame)
        if mark is not None:
            return StackSample(frame, mark, tuple(types), tuple(places))
        if not frame.f_code.co_filename.startswith(_OURS):
            places.append(CodeLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname))
            types.extend(_type(frame))
        frame = frame.f_back
    return None


_STEP = _Steps._step.__code__  # noqa: SLF001 - of this module


def _mark(frame: FrameType) -> Attribution | None:
    if frame.f_code is _STEP:
        return frame.f_locals["self"].mark  # type: ignore[no-any-return]
    if frame.f_code is call.__code__:
        return frame.f_locals["mark"]  # type: ignore[no-any-return]
    return None


def _type(frame: FrameType) -> list[type]:
    """The class of the method's object, by the conventional name of its first argument."""
    if not frame.f_code.co_argcount:
        return []
    match frame.f_code.co_varnames[0], frame.f_locals.get(frame.f_code.co_varnames[0]):
        case "self", receiver if receiver is not None:
            return [type(receiver)]
        case "cls", type() as receiver:
            return [receiver]
        case _:
            return []
