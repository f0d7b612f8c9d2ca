"""What a task of the bridge is given, and how its segment ends. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from torpor import Results
from torpor_wire import canonical, constants

from torpor_airflow.operators.asset_events import AssetEvent

XCOM_PREFIX = "xcom_"
MAPPED_PREFIX = "mapped_"
RETURN_VALUE = "return_value"
UNMAPPED = -1
ASSETS = "__assets__"
"""The key of a result with the events of the outlets of a task, beside its XComs."""
LINKS = "__links__"
"""The key of a result with the links of a task, which the page shows."""
XCOMS = "__xcoms__"
"""The key of a result with several XComs: `{"__xcoms__": {"return_value": …, "rows": …}}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """An operator, and what its templates see.

    `operator` is a class path with `arguments`. If it is empty, the operator is `task` of `dag`, which is written as
    `module:dag_id`. `conf` is that of the DAG run. `retries` is the limit of retries, by default that of the operator.
    `xcoms` are the results of other tasks by task. `downstream` are the names of the tasks that a branch chooses
    from, by their ids in Airflow. `external_tasks` are those of the group that an ExternalTaskSensor waits for.
    `asset_events` are those that started the run.
    """

    operator: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dag: str = ""
    task: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    conf: Mapping[str, Any] = field(default_factory=dict)
    logical_date: datetime | None = None
    data_interval: tuple[datetime, datetime] | None = None
    is_scheduled: bool = False
    retries: int | None = None
    xcoms: Mapping[str, "TaskXComs"] = field(default_factory=dict)
    downstream: Mapping[str, str] = field(default_factory=dict)
    external_tasks: Sequence[str] = ()
    asset_events: Sequence[AssetEvent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskXComs:
    """The XComs of a task: of each instance by its index, from 0, and of a task that is not mapped under -1."""

    by_index: Mapping[int, Mapping[str, Any]]

    def of_index(self, index: int | None, key: str) -> Any:
        """Return the XCom of an instance, None without one. A task that is not mapped has one for any index."""
        found = self.by_index.get(UNMAPPED) or self.by_index.get(UNMAPPED if index is None else index, {})
        return found.get(key)

    def of_all(self, key: str) -> list[Any]:
        """Return the XComs of all instances that have one, in their order."""
        return [found[key] for _, found in sorted(self.by_index.items()) if found.get(key) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentState:
    """What survives between segments: pushed XComs, the state store of the task, and since when a sensor pokes."""

    pushed: Mapping[str, Any] = field(default_factory=dict)
    stored: Mapping[str, Any] = field(default_factory=dict)
    first_poke: datetime | None = None
    reschedules: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the state for the next segment, without what is empty."""
        written: dict[str, Any] = {"pushed": dict(self.pushed)} if self.pushed else {}
        if self.stored:
            written["stored"] = dict(self.stored)
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


def may_retry(attempt: int, retries: int) -> bool:
    """Whether another attempt may follow. Attempts count from 1. A negative number of retries is no limit."""
    return retries < 0 or attempt <= retries


def task_key(name: str) -> str:
    """Return the name by which a task is found: Airflow allows `extract_data`, Torpor `extract-data`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def read_xcoms(result: object) -> TaskXComs:
    """Return the XComs of a task from its result, or from the results of a mapped task."""
    if isinstance(result, Results):
        places = [each if isinstance(each, int) else each[-1] for each in result.positions]
        return TaskXComs(by_index={place: _xcoms_by_key(value) for place, value in zip(places, result, strict=True)})
    return TaskXComs(by_index={UNMAPPED: _xcoms_by_key(result)})


def _xcoms_by_key(result: object) -> Mapping[str, Any]:
    match result:
        case {"__xcoms__": Mapping() as several, **others} if others.keys() <= {ASSETS, LINKS}:
            return {str(key): value for key, value in several.items()}
        case _:
            return {RETURN_VALUE: result}


def build_result(
    pushed: Mapping[str, Any],
    *,
    assets: Sequence[Mapping[str, Any]] | None = None,
    links: Sequence[Mapping[str, str]] = (),
) -> Any:
    """Return the result of a task that pushed these XComs: the returned value, or all of them if there are others.

    With links, or with the events of its outlets, the result is an object of all XComs, too. Links with which it would
    be too large for the TaskRun are left out.
    """
    beside = ({LINKS: list(links)} if links else {}) | ({} if assets is None else {ASSETS: list(assets)})
    if beside:
        result = {XCOMS: {RETURN_VALUE: None, **pushed}, **beside}
        return result if not links or _is_small(result) else build_result(pushed, assets=assets)
    if pushed.keys() <= {RETURN_VALUE}:
        return pushed.get(RETURN_VALUE)
    return {XCOMS: dict(pushed)}


def _is_small(result: object) -> bool:
    try:
        return len(canonical.plain(result).encode()) <= constants.RESULT_MAX
    except canonical.NotJsonError:
        return False  # without the links, it fails by itself


def chosen(downstream: Mapping[str, str], skipped: Sequence[str]) -> list[str]:
    """Return the names of the tasks that a branch runs, of `downstream`, which has the names by their ids."""
    left_out = {task_key(task_id) for task_id in skipped}
    return [name for task_id, name in downstream.items() if task_key(task_id) not in left_out]
