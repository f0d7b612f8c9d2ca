"""Checks that segments and waits end as their script says (I8).

A task that raises TaskSkipped ends Skipped, and no other does; an event that ends its task ends it so, once and for
all. Both are judged by what was written into the workflow, where each commit changes a TaskRun.
"""

import json
from collections.abc import Callable
from typing import Any

from torpor_local.apiserver.history import Object
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.simulation.actors import container
from tests.simulation.process import Process

BY_EVENT = {"ends": State.SUCCEEDED, "fails": State.FAILED, "skips": State.SKIPPED}
"""What the words of a trigger whose event ends the task come to."""

_HOLDS = {State.SUCCEEDED: "True", State.SKIPPED: "True", State.FAILED: "False", State.CANCELLED: "False"}


_CONTAINER_ENDS = {"ok": State.SUCCEEDED, "skip": State.SKIPPED}


class SegmentEndChecker:
    """`expect` notes a check of an invariant."""

    def __init__(self, expect: Callable[[str, bool, str], None]) -> None:
        self._expect = expect

    def moved(self, writer: Process, before: Object, after: Object, description: str) -> None:
        """One change of a TaskRun's status."""
        was, now = State(before["status"]["state"]), State(after["status"]["state"])
        conditions: list[Object] = after["status"].get("conditions", [])
        condition = next((entry for entry in conditions if entry["type"] == "Succeeded"), {})
        right = condition.get("status") == _HOLDS.get(now, "Unknown") or not condition
        self._expect("I4", right, f"{description}: the condition Succeeded is {condition.get('status')}")
        match writer.kind:
            case "pod" if was is State.RUNNING:
                self._of_code(before, after["status"], now, description)
            case "operator" if was is State.RUNNING and "container" in before["spec"]:
                self._of_container(before, now, description)
            case "triggerer" if was is State.DEFERRED is not now:
                self._of_event(before, after["status"], now, description)

    def _of_code(self, run: Object, status: Object, now: State, description: str) -> None:
        word = _word(run)
        if now is State.SKIPPED:
            self._expect("I8", word == "skip", f"{description}: but its code says {word}")
        elif word == "skip":
            # It may fail before it says so, over what it is given.
            failed = now in {State.FAILED, State.UP_FOR_RETRY} and "TaskSkipped" not in status.get("message", "")
            self._expect("I8", failed, f"{description}: but its code skips itself")

    def _of_container(self, run: Object, now: State, description: str) -> None:
        status = run["status"]
        if "outcome" not in run["spec"]["container"]:
            return  # checks.containers
        word, _ = container.word(run["spec"]["container"]["command"], status["attempt"], status["segment"])
        expected = State.DEFERRED if word in container.WAITS else _CONTAINER_ENDS.get(word)
        if now in {State.DEFERRED, State.SUCCEEDED, State.SKIPPED}:
            self._expect("I8", now is expected, f"{description}: but its program says {word}")

    def _of_event(self, run: Object, status: Object, now: State, description: str) -> None:
        word = json.loads(run["status"]["trigger"]["kwargs"]).get("word", "")
        wanted = BY_EVENT.get(word)
        if wanted is None:
            self._expect("I8", now is not State.SKIPPED, f"{description}: but no event says so")
            return
        late = status.get("reason") in {Reason.TIMEOUT, Reason.DEFERRAL_TIMEOUT}
        over = now is wanted or now is State.CANCELLED or late
        self._expect("I8", over, f"{description}: but its event {word} the task")


def _word(run: Object) -> str:
    """What the code of the present segment does."""
    given: Any = next(
        (argument["value"] for argument in run["spec"].get("arguments", ()) if argument["name"] == "script"), None
    )
    if given is None:
        return ""
    script, status = json.loads(given), run["status"]
    segments = script[min(status["attempt"], len(script)) - 1]
    return str(segments[min(status["segment"], len(segments) - 1)]).partition(":")[0]
