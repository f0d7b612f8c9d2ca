"""What a task of the bridge is given, and how its segment ends. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

XCOM_PREFIX = "xcom_"
RETURN_VALUE = "return_value"
XCOMS = "__xcoms__"
"""The key of a result with several XComs: `{"__xcoms__": {"return_value": …, "rows": …}}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """An operator, its arguments, and what its templates see.

    `xcoms` are the results of other tasks by task and key. `downstream` are the tasks that a branch chooses from.
    """

    operator: str
    arguments: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    logical_date: datetime | None = None
    data_interval: tuple[datetime, datetime] | None = None
    xcoms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    downstream: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentState:
    """What survives between segments: XComs that the task has pushed, and since when a sensor pokes."""

    pushed: Mapping[str, Any] = field(default_factory=dict)
    first_poke: datetime | None = None
    reschedules: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the state for the next segment, without what is empty."""
        written: dict[str, Any] = {"pushed": dict(self.pushed)} if self.pushed else {}
        if self.first_poke is not None:
            written |= {"first_poke": self.first_poke, "reschedules": self.reschedules}
        return written


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeMethod:
    """The method in which an operator resumes, with its arguments."""

    method: str
    kwargs: Mapping[str, Any]


def parse_moment(value: object, name: str) -> datetime | None:
    """Return the moment of an argument. Raises ValueError for a text that is none, and for one without a time zone."""
    if value is None or value == "":
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{name} is {value!r:.100}; write a moment such as 2026-11-26T06:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{name} has no time zone; write a moment such as 2026-11-26T06:00:00Z")
    return moment


def task_key(name: str) -> str:
    """Return the name by which a task is found: Airflow allows `extract_data`, Torpor `extract-data`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def read_xcoms(result: object) -> Mapping[str, Any]:
    """Return the XComs of a task by key, from its result."""
    match result:
        case {"__xcoms__": Mapping() as several, **others} if not others:
            return {str(key): value for key, value in several.items()}
        case _:
            return {RETURN_VALUE: result}


def build_result(pushed: Mapping[str, Any]) -> Any:
    """Return the result of a task that pushed these XComs: the returned value, or all of them if there are others."""
    if pushed.keys() <= {RETURN_VALUE}:
        return pushed.get(RETURN_VALUE)
    return {XCOMS: dict(pushed)}


def chosen(downstream: Sequence[str], skipped: Sequence[str]) -> list[str]:
    """Return the tasks that a branch runs."""
    left_out = {task_key(name) for name in skipped}
    return [name for name in downstream if task_key(name) not in left_out]
