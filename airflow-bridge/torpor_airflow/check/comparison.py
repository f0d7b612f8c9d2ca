"""What a run of Airflow and one of Torpor have in common, and what differs. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

STATES: Mapping[str, str] = {
    "success": "Succeeded",
    "failed": "Failed",
    "skipped": "Skipped",
    "upstream_failed": "UpstreamFailed",
}
_OWN_KEYS = {"skipmixin_key"}
"""XComs that Airflow writes for itself."""
_CLOCK = re.compile(r"(?<!\d)([0-2]\d):([0-5]\d):([0-5]\d)(?:\.\d+)?")
_APART_MAX = 3600
"""Seconds between the two runs: a result may contain the time at which its task ran."""
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """The end of a run: its state, and of each task by index its state and its XComs. All words are Torpor's."""

    state: str
    states: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    xcoms: Mapping[str, Mapping[int, Mapping[str, Any]]] = field(default_factory=dict)


def of_airflow(outcome: Mapping[str, Any]) -> ComparedRun:
    """Return what the process of Airflow wrote."""
    return ComparedRun(
        state=STATES.get(outcome["state"], outcome["state"]),
        states={
            task: {int(index): STATES.get(state, state) for index, state in by_index.items() if state != "removed"}
            for task, by_index in outcome["states"].items()
        },
        xcoms={
            task: {int(index): _own(values) for index, values in by_index.items()}
            for task, by_index in outcome["xcoms"].items()
        },
    )


def without_answers(run: ComparedRun, sensors: AbstractSet[str]) -> ComparedRun:
    """Return the run without the answer True of its sensors: one that had to defer returns nothing instead."""
    xcoms = {
        task: {
            index: {key: value for key, value in values.items() if value is not True} for index, values in each.items()
        }
        if task in sensors
        else each
        for task, each in run.xcoms.items()
    }
    return replace(run, xcoms=xcoms)


def _own(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        key: value
        for key, value in values.items()
        if key not in _OWN_KEYS and not key.startswith("_link_") and value is not None
    }


def differences(airflow: ComparedRun, torpor: ComparedRun, *, without_results: AbstractSet[str]) -> Sequence[str]:
    """Return what differs, one line each. The results of some tasks are not compared, such as those of branches."""
    found = [] if airflow.state == torpor.state else [f"the run: {airflow.state} in Airflow, {torpor.state} here"]
    for task in sorted(airflow.states.keys() | torpor.states.keys()):
        found += _states(task, airflow.states.get(task, {}), torpor.states.get(task, {}))
    for task in sorted((airflow.xcoms.keys() | torpor.xcoms.keys()) - without_results):
        found += _xcoms(task, airflow.xcoms.get(task, {}), torpor.xcoms.get(task, {}))
    return found


def _states(task: str, airflow: Mapping[int, str], torpor: Mapping[int, str]) -> Iterator[str]:
    for index in sorted(airflow.keys() | torpor.keys()):
        theirs, ours = airflow.get(index, "no instance"), torpor.get(index, "no instance")
        if theirs != ours:
            yield f"{_instance(task, index)}: {theirs} in Airflow, {ours} here"


def _xcoms(
    task: str, airflow: Mapping[int, Mapping[str, Any]], torpor: Mapping[int, Mapping[str, Any]]
) -> Iterator[str]:
    for index in sorted(airflow.keys() | torpor.keys()):
        theirs, ours = airflow.get(index) or {}, torpor.get(index) or {}
        for key in sorted(theirs.keys() | ours.keys()):
            if not _are_same(theirs.get(key), ours.get(key)):
                what = f"{_instance(task, index)}: XCom {key}"
                yield f"{what}: {_short(theirs.get(key))} in Airflow, {_short(ours.get(key))} here"


def _are_same(theirs: Any, ours: Any) -> bool:
    """Whether two XComs are the same, but for times of day within them, less than an hour apart."""
    if theirs == ours:
        return True
    left, right = (json.dumps(value, sort_keys=True) for value in (theirs, ours))
    if _CLOCK.sub("", left) != _CLOCK.sub("", right):
        return False
    pairs = zip(_CLOCK.finditer(left), _CLOCK.finditer(right), strict=True)
    return all(_apart(_seconds(one), _seconds(other)) < _APART_MAX for one, other in pairs)


def _seconds(found: re.Match[str]) -> int:
    hours, minutes, seconds = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _apart(one: int, other: int) -> int:
    """Return the seconds between two times of day, also across midnight."""
    apart = abs(one - other)
    return min(apart, _DAY - apart)


def _instance(task: str, index: int) -> str:
    return task if index < 0 else f"{task}/{index}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004
