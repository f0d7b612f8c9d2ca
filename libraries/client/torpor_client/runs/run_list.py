"""Live and archived runs as one list. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants, times

from torpor_client.runs import run_state


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run of the list. Times are seconds since the epoch. `progress` is ended of known instances."""

    namespace: str
    name: str
    uid: str
    state: str
    created: float
    completed: float | None = None
    progress: str = ""
    reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    archived: bool = False
    """Only the archive has it."""
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schedule(self) -> str:
        """The Schedule that started it, empty without one."""
        run_of = (self.body.get("spec") or {}).get("runOf") or {}
        return str(run_of.get("schedule") or self.labels.get(constants.LABEL_SCHEDULE) or "")

    @property
    def duration(self) -> float | None:
        """Seconds from creation to end, None while it goes on."""
        return None if self.completed is None else max(self.completed - self.created, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilters:
    """What to list. `since`: runs that go on or ended after this time."""

    states: frozenset[str] = frozenset()
    since: float | None = None

    def accepts(self, run: ListedRun) -> bool:
        """Whether the list shows a run."""
        if self.states and run.state not in self.states:
            return False
        return self.since is None or run.completed is None or run.completed >= self.since


def live(workflow: Mapping[str, Any]) -> ListedRun:
    """Return the entry of a Workflow."""
    metadata, status = workflow["metadata"], workflow.get("status") or {}
    return ListedRun(
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        uid=metadata["uid"],
        state=run_state.word_of(workflow),
        created=_moment(metadata.get("creationTimestamp")) or 0.0,
        completed=_moment(status.get("completionTime")),
        progress=str(status.get("progress") or ""),
        reason=str(run_state.condition(workflow, "Succeeded").get("reason") or ""),
        labels=metadata.get("labels") or {},
        body=workflow,
    )


def archived(item: Mapping[str, Any]) -> ListedRun:
    """Return the entry of a run that the archive lists."""
    return ListedRun(
        namespace=str(item.get("namespace") or ""),
        name=str(item.get("name") or ""),
        uid=str(item.get("uid") or ""),
        state=str(item.get("state") or ""),
        created=_moment(item.get("created")) or 0.0,
        completed=_moment(item.get("completed")),
        labels=item.get("labels") or {},
        archived=True,
        body=_as_workflow(item),
    )


def merged(
    live_runs: Iterable[ListedRun], archived_runs: Iterable[ListedRun], filters: RunFilters
) -> Sequence[ListedRun]:
    """Return the runs that the filters accept, the newest first. A run that both have is live."""
    by_uid = {run.uid: run for run in archived_runs} | {run.uid: run for run in live_runs}
    chosen = [run for run in by_uid.values() if filters.accepts(run)]
    return sorted(chosen, key=lambda run: (-run.created, run.namespace, run.name))


def archive_filters(filters: RunFilters, labels: str) -> dict[str, Any] | None:
    """Return the parameters for the archive; None for a label selector with sets, which it does not take."""
    if "(" in labels:
        return None
    parameters: dict[str, Any] = {"state": sorted(filters.states & run_state.ENDED)} if filters.states else {}
    if filters.since is not None:
        parameters["since"] = times.rfc3339(filters.since)
    if labels:
        parameters["labels"] = labels
    return parameters


def concerns_archive(filters: RunFilters) -> bool:
    """Whether an archived run may be among those that the filters accept: all of them have ended."""
    return not filters.states or bool(filters.states & run_state.ENDED)


def _as_workflow(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the list knows, in the form of a Workflow."""
    kept = ("namespace", "name", "uid", "labels")
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {key: item[key] for key in kept if item.get(key)} | {"creationTimestamp": item.get("created")},
        "status": {"state": item.get("state"), "completionTime": item.get("completed")},
    }


def _moment(value: Any) -> float | None:
    try:
        return times.epoch(value) if isinstance(value, str) else float(value) if value is not None else None
    except ValueError:
        return None
