"""The task functions of simulated workflows. Each follows a script.

A script is a list of attempts, and an attempt is a list of segments. The last attempt also applies to later ones. A
segment is one word:

- `ok`, `work:2` (seconds), `raise`, `final`, `skip`, `exit`, `vanish`, `hang`;
- `defer:3` (seconds), `poll:2` (a trigger polls twice), `share:2` (the same, shared by all waits of this number),
  `brief:12` (the same, with a timeout of 3 s), `many:3` (as `defer`, in a batch), `bad` (a trigger that raises);
- `ends:2`, `fails:2`, `skips:2` (a trigger polls twice, and its event ends the task);
- `wide` (a list whose length depends on the TaskRun), `pick` (one of `names`, as a branch does).

A task within groups receives its group indexes as `at` and returns them. A task that receives such results as `rows`
checks that they come from the same indexes of the first `shared` groups.
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

from torpor import TaskFailed, TaskSkipped, defer
from torpor.deferral import Deferral
from torpor_wire import times

Script = Sequence[Sequence[str]]
_RAISED = {"raise": RuntimeError, "final": TaskFailed, "skip": TaskSkipped}


class Here(Protocol):
    """The pod that a task runs in."""

    attempt: int
    segment: int

    def entered(self, event: object) -> None:
        """User code begins."""

    def saw(self, right: bool, what: str) -> None:
        """Whether what it was given is what it should see."""

    def token(self) -> str:
        """Which wait a deferral now is: what its event must say."""

    def now(self) -> float:
        """Its wall clock."""

    def sleep(self, seconds: float) -> None:
        """Work."""

    def vanish(self) -> None:
        """The process ends without a word."""


class Pods:
    """Whose turn it is; set by the driver at each switch."""

    here: Here


class SerializedTrigger:
    """A trigger as it is written down."""

    def __init__(self, class_name: str, **kwargs: Any) -> None:
        self._called = class_name, kwargs

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return self._called


def perform(  # noqa: PLR0913 - what tasks of all kinds are given, by name
    script: Script,
    item: object = None,
    other: object = None,
    *,
    at: list[int] | None = None,
    rows: object = None,
    shared: int = 0,
    names: Sequence[str] = (),
) -> object:
    """The first segment of an attempt."""
    if at is not None and rows is not None:
        Pods.here.saw(*_right(at[:shared], rows))
    return _act(script, None, at, names)


def resumed(event: object, script: Script, at: list[int] | None = None) -> object:
    """Every later one."""
    return _act(script, event, at)


def _right(here: list[int], rows: Any) -> tuple[bool, str]:
    """Whether results come from these indexes of groups; of many also whether they are in order, and each once."""
    paths = [row["at"] for row in ([rows] if isinstance(rows, dict) else rows)]
    right = all(path[: len(here)] == here for path in paths)
    ordered = all(first < second for first, second in pairwise(paths))
    return right and ordered, f"at {here} it is given the results of {paths}"


def _act(script: Script, event: object, at: list[int] | None, names: Sequence[str] = ()) -> object:
    here = Pods.here
    here.entered(event)
    segments = script[min(here.attempt, len(script)) - 1]
    word, _, number = segments[min(here.segment, len(segments) - 1)].partition(":")
    match word:
        case "work":
            here.sleep(float(number))
        case "raise" | "final" | "skip":
            raise _RAISED[word]("as the script says")
        case "exit":
            sys.exit(3)
        case "vanish":
            here.vanish()
        case "hang":
            here.sleep(1e6)
        case "defer" | "poll" | "share" | "brief" | "many" | "bad" | "ends" | "fails" | "skips":
            return _defer(script, word, float(number or 0), here.now(), {} if at is None else {"at": at})
        case "wide":
            return [[7, 8], [], [9]][: int(here.token().partition("/")[0][-1:], 16) % 4]
        case "pick":
            return names[sum(at or ()) % len(names)]
    return {"at": at} if at is not None else [1, 2, 3][: here.attempt]


def _defer(script: Script, word: str, number: float, now: float, kept: dict[str, Any]) -> Deferral:
    match word:
        case "defer":
            trigger = SerializedTrigger("time", at=times.rfc3339(now + number))
        case "many":
            trigger = SerializedTrigger("odd_many", at=now + number, token=Pods.here.token())
        case "share" | "brief":
            trigger = SerializedTrigger("odd", looks=int(number), word="poll", token=f"share {number}")
        case _:
            trigger = SerializedTrigger("odd", looks=int(number), word=word, token=Pods.here.token())
    return defer(trigger, then=resumed, timeout="3s" if word == "brief" else None, script=script, **kept)
