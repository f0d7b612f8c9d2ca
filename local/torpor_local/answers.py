"""Events that the user gives for waits: such a wait ends at once, and its trigger does not run. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Outcome
from torpor_wire import constants, instance_paths

from torpor_local.options import LocalRunError


def instance(taskrun: Mapping[str, Any]) -> str:
    """Return how a user names an instance: `load`, `load/3`, or `load/0.3` within a mapped group."""
    spec = taskrun["spec"]
    index = int(spec.get("mapIndex", constants.UNMAPPED))
    path = (*(spec.get("groupIndexes") or ()), *(() if index == constants.UNMAPPED else (index,)))
    return f"{spec['task']}/{instance_paths.written(path)}" if path else str(spec["task"])


def answer(events: Mapping[str, Any], taskrun: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a wait with an event: of the instance, else of its task. None if there is no event."""
    for name in (instance(taskrun), str(taskrun["spec"]["task"])):
        if name in events:
            return outcome.from_payload(events[name])
    return None


def check(events: Mapping[str, Any], tasks: Iterable[str]) -> None:
    """Raise LocalRunError for an event of a task that does not exist."""
    known = sorted(tasks)
    for name in events:
        if known and name.partition("/")[0] not in known:
            raise LocalRunError(f"there is no task for the event of {name}; the tasks are {', '.join(known)}")
