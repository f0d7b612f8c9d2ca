"""Which runs a wait of Airflow is for, and what their states mean for it. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from torpor_wire import names as run_names
from torpor_wire.state import RunState, TaskState

from torpor_airflow.conversion import names

RUNS_MAX = 32
"""Runs that one wait is for."""
NAMES_MAX = 64
"""Workflows that one wait watches: a run has a name for each cron source of its Schedule, up to 20."""
_DAG_ID = re.compile(r"[\w.-]{1,250}", re.ASCII)
_RUN_STATES = {
    RunState.SUCCEEDED.value: "success",
    RunState.FAILED.value: "failed",
    RunState.PENDING.value: "queued",
}
_TASK_STATES = {
    TaskState.SUCCEEDED.value: "success",
    TaskState.FAILED.value: "failed",
    TaskState.CANCELLED.value: "failed",
    TaskState.SKIPPED.value: "skipped",
    TaskState.UPSTREAM_FAILED.value: "upstream_failed",
    TaskState.RUNNING.value: "running",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Runs of a DAG: by their names, or by the ticks of the Schedule of the DAG. `tasks`: instead of the whole run."""

    dag_id: str
    run_ids: Sequence[str] = ()
    ticks: Sequence[float] = ()
    tasks: Sequence[str] = ()

    @property
    def schedule(self) -> str:
        """The name of the template and of the Schedule of the DAG."""
        return names.object_name(self.dag_id)

    @property
    def run_count(self) -> int:
        """How many runs there are."""
        return len(self.run_ids) or len(self.ticks)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedStates:
    """The states that end a wait, in the words of Airflow."""

    allowed: Collection[str] = ()
    skipped: Collection[str] = ()
    failed: Collection[str] = ()


def parse(
    dag_id: object, run_ids: Collection[str] | None, moments: Collection[datetime] | None, tasks: Collection[str] = ()
) -> RunQuery:
    """Return the query of a trigger's arguments. Raises ValueError for one that Torpor cannot answer."""
    if not isinstance(dag_id, str) or not _DAG_ID.fullmatch(dag_id):
        raise ValueError(f"{dag_id!r:.100} is not the id of a DAG: a wait is for a DAG of its own namespace")
    query = RunQuery(
        dag_id=dag_id,
        run_ids=[*(run_ids or ())],
        ticks=[_epoch(each) for each in moments or ()],
        tasks=[*tasks],
    )
    if not 1 <= query.run_count <= RUNS_MAX:
        raise ValueError(f"the wait for {dag_id} is for {query.run_count} runs; 1 to {RUNS_MAX} are possible")
    for name in query.run_ids:
        if not run_names.is_object_name(name):
            raise ValueError(f"{name!r:.100} is not the name of a run of Torpor, which is the run_id of its tasks")
    return query


def _epoch(moment: datetime) -> float:
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def run_names_of(query: RunQuery, schedule: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """Return the names that each run may have: one for each cron source of the Schedule.

    Raises ValueError for a Schedule without cron sources, and for too many names.
    """
    uid = schedule["metadata"]["uid"]
    sources = [each["name"] for each in schedule["spec"].get("sources") or () if "cron" in each]
    if not sources:
        raise ValueError(f"Schedule {query.schedule} has no cron source, so its runs have no logical date")
    if len(query.ticks) * len(sources) > NAMES_MAX:
        raise ValueError(
            f"the wait is for {len(query.ticks)} runs of Schedule {query.schedule} with {len(sources)} cron sources: "
            f"it would watch more than {NAMES_MAX} Workflows"
        )
    return [
        [run_names.run(query.schedule, run_names.tick_key(uid, source, tick)) for source in sources]
        for tick in query.ticks
    ]


def end_status(query: RunQuery, wanted: WantedStates, runs: Sequence[Mapping[str, Any] | None]) -> str | None:
    """Return `failed`, `skipped` or `success` as Airflow's trigger does, None while the wait goes on.

    `runs` are the Workflows of the query in its order, None for one that does not exist yet.
    """
    for states, status in ((wanted.failed, "failed"), (wanted.skipped, "skipped")):
        if matching_count(query, states, runs) > 0:
            return status
    expected = query.run_count * max(1, len(query.tasks))
    return "success" if matching_count(query, wanted.allowed, runs) == expected else None


def matching_count(query: RunQuery, states: Collection[str], runs: Sequence[Mapping[str, Any] | None]) -> int:
    """Return how many runs are in these states; for a query with tasks, how many tasks of the runs."""
    found = [run for run in runs if run is not None]
    if not query.tasks:
        return sum(run_state(run) in states for run in found)
    return sum(state in states for run in found for state in _task_states(query, run))


def run_state(run: Mapping[str, Any]) -> str:
    """Return the state of a Workflow in the words of Airflow."""
    state = str((run.get("status") or {}).get("state") or RunState.PENDING.value)
    return _RUN_STATES.get(state, "running")


def check_run(query: RunQuery, run: Mapping[str, Any]) -> None:
    """Raise ValueError for a run of another template, and for one without a task of the query."""
    name, reference = run["metadata"]["name"], run["spec"].get("templateRef") or {}
    if reference.get("name") != query.schedule:
        raise ValueError(f"Workflow {name} is not a run of the template {query.schedule}")
    known = [task["name"] for task in (run.get("status") or {}).get("tasks") or ()]
    missing = [task for task in query.tasks if _task_name(task) not in known]
    if known and missing:
        raise ValueError(f"the DAG {query.dag_id} has no task {missing[0]}; {name} has {', '.join(known[:20])}")


def _task_states(query: RunQuery, run: Mapping[str, Any]) -> Iterator[str]:
    by_name = {task["name"]: task.get("state") for task in (run.get("status") or {}).get("tasks") or ()}
    for task in query.tasks:
        yield _TASK_STATES.get(str(by_name.get(_task_name(task))), "")


def _task_name(task_id: str) -> str:
    return names.task_names([task_id])[task_id]
